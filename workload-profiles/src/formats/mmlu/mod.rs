//! mmlu: the questions of MMLU, or of any data set in the same form, sent in a closed loop. The options are those of MLPerf's accuracy runner for
//! Llama-3.1-8B.

use std::collections::{BTreeMap, BTreeSet};

use crds::benchmark_run::Api;
use serde_json::{Value, json};

use super::{
    common::{
        bounds::MAX_TOKENS,
        fields::{api, concurrency, timeouts},
        files::file_source,
        target::model,
    },
    format::{Format, profile},
    target::Target,
};
use crate::{
    problem::{Findings, quoted},
    reader::{Section, described},
    workload::{
        AnswerScoring, Domains, Extra, Load, QuestionFormat, Questions, RequestSource, Sampling, Split, Stage,
        Timeouts, Workload,
    },
};

/// The keys of a profile.
pub(super) const KEYS: [&str; 20] = [
    "api",
    "concurrency",
    "data",
    "details",
    "domains",
    "examples",
    "format",
    "instruction",
    "maxPromptTokens",
    "maxTokens",
    "minAccuracy",
    "model",
    "scoring",
    "shots",
    "split",
    "streaming",
    "subjects",
    "timeouts",
    "tokenizer",
    "totalLimit",
];

/// Default number of examples before each question, as in MLPerf's accuracy runner.
const SHOTS: u32 = 5;
/// Default number of concurrent requests, as in MLPerf's accuracy runner.
const CONCURRENCY: u32 = 16;
/// Maximum output tokens if the answer's text is scored: a letter, and a few words before it.
const TEXT_TOKENS: u32 = 16;
/// Default number of candidates for the first token to request. It is vLLM's default maximum, and also the maximum of the chat API.
const TOP_LOGPROBS: u32 = 20;
/// Maximum number of candidates that a profile may request.
const MOST_TOP_LOGPROBS: u64 = 1_000;
/// Default text of the instruction.
const INSTRUCTION: &str = "Reply with the letter only.";
/// Maximum length of the instruction, in bytes.
const MAX_INSTRUCTION: usize = 64 << 10;
/// The name of the only stage.
const STAGE: &str = "mmlu";

/// The profiles of MMLU.
pub(super) const FORMAT: Format = Format {
    parse,
    root_keys: || &KEYS,
    stage_length: None,
    shipped: &[profile!("mmlu", "chat"), profile!("mmlu", "mmlu")],
};

/// Reads a profile. `None` means that the findings contain at least one problem.
fn parse(profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let root = Section::root(profile, &KEYS, findings)?;
    let model = model(&root, "model", target);
    let streaming = root.or_default("streaming", true, |it, key| it.bool(key));
    let timeouts = timeouts(&root, Timeouts::default(), streaming.unwrap_or(true));
    let tokenizer = file_source(&root, "tokenizer");
    let slots = root.or_default("concurrency", CONCURRENCY, concurrency);
    let questions = questions(&root);
    let api = api_of(&root, questions.as_ref());
    root.finish();
    let questions = questions?;
    // The stage ends after the last question. The number of questions is only known when the data is read.
    let load = Load::closed(slots?, questions.total_limit.unwrap_or(Questions::MOST));
    // Decoding is greedy, so that a run can be repeated.
    let extra = Extra::try_from(BTreeMap::from([("temperature".to_owned(), json!(0))])).unwrap_or_default();
    let requests = RequestSource::Questions(Box::new(questions));
    Some(Workload {
        streaming: streaming?,
        model,
        tokenizer,
        sampling: Sampling { extra, ..Sampling::default() },
        timeouts,
        ..Workload::new(api?, requests, vec![Stage::new(STAGE, load)])
    })
}

/// Reads the API. The default is chat for the format `chat`, else completions.
fn api_of(root: &Section, questions: Option<&Questions>) -> Option<Api> {
    let is_chat = questions.is_some_and(|it| it.format == QuestionFormat::Chat);
    if root.value("api").is_none() && is_chat { Some(Api::Chat) } else { api(root) }
}

/// Reads the keys of a question source. Our own format has the same keys in a section. Returns `None` if at least one problem was reported.
pub(super) fn questions(root: &Section) -> Option<Questions> {
    root.require("data", "write the path of a file or a folder with questions, or {url: ...}");
    let data = file_source(root, "data");
    let examples = file_source(root, "examples");
    let splits = Split::ALL.map(|it| (it.name(), it));
    let split = root.or_default("split", Split::default(), |it, key| it.choice(key, &splits));
    let shots = root.or_default("shots", SHOTS, |it, key| it.count_u32(key, 0..=Questions::MOST_SHOTS));
    if shots == Some(0) && examples.is_some() {
        root.problem("examples", "are not shown, because shots is 0; take examples out, or raise shots");
    }
    if split == Some(Split::Dev) && examples.is_none() && shots.is_some_and(|it| it > 0) {
        root.problem("split", "is dev, whose questions are the examples; set shots to 0, or name other examples");
    }
    let formats =
        [("original", QuestionFormat::Original), ("harness", QuestionFormat::Harness), ("chat", QuestionFormat::Chat)];
    let format = root.or_default("format", QuestionFormat::default(), |it, key| it.choice(key, &formats));
    let domains = [("original", Domains::Original), ("lm-eval", Domains::LmEval)];
    let domains = root.or_default("domains", Domains::default(), |it, key| it.choice(key, &domains));
    let scoring = scoring(root);
    let tokens = if scoring == Some(AnswerScoring::Text) { TEXT_TOKENS } else { 1 };
    let max_tokens = root.or_default("maxTokens", tokens, |it, key| it.count_u32(key, 1..=MAX_TOKENS));
    let max_prompt_tokens =
        root.or_default("maxPromptTokens", None, |it, key| it.count_u32(key, 1..=MAX_TOKENS).map(Some));
    let min_accuracy = root.or_default("minAccuracy", None, |it, key| it.number(key, 0.0..=1.0).map(Some));
    let details = root.or_default("details", true, |it, key| it.bool(key));
    let total_limit = root.or_default("totalLimit", None, |it, key| it.count(key, 1..=Questions::MOST).map(Some));
    let instruction = instruction(root, format);
    let subjects = root.or_default("subjects", Vec::new(), subjects);
    Some(Questions {
        data: data?,
        split: split?,
        examples,
        shots: shots?,
        max_prompt_tokens: max_prompt_tokens?,
        format: format?,
        instruction: instruction?,
        subjects: subjects?,
        total_limit: total_limit?,
        scoring: scoring?,
        max_tokens: max_tokens?,
        domains: domains?,
        min_accuracy: min_accuracy?,
        details: details?,
    })
}

/// Reads how answers are scored: `text`, `logprobs`, or `{logprobs: 10}` with the number of candidates to request.
fn scoring(section: &Section) -> Option<AnswerScoring> {
    if section.value("scoring").is_none() {
        return Some(AnswerScoring::Logprobs(TOP_LOGPROBS));
    }
    match section.variant("scoring", &["logprobs", "text"])? {
        ("text", None) => Some(AnswerScoring::Text),
        ("text", Some(_)) => {
            section.problem("scoring", "takes no settings for text; write scoring: text");
            None
        }
        (_, None) => Some(AnswerScoring::Logprobs(TOP_LOGPROBS)),
        (_, Some(holder)) => holder.count_u32("logprobs", 1..=MOST_TOP_LOGPROBS).map(AnswerScoring::Logprobs),
    }
}

/// Reads the text before the prompt. `Some(None)` if there is none. Returns `None` if a problem was reported.
fn instruction(root: &Section, format: Option<QuestionFormat>) -> Option<Option<String>> {
    let Some(_) = root.value("instruction") else {
        return Some((format == Some(QuestionFormat::Chat)).then(|| INSTRUCTION.to_owned()));
    };
    let text = root.text("instruction")?;
    if format.is_some_and(|it| it != QuestionFormat::Chat) {
        root.problem("instruction", "is used only in prompts of the format chat; set format to chat, or take it out");
    }
    if text.len() > MAX_INSTRUCTION {
        let message = format!("has {} bytes, and at most {MAX_INSTRUCTION} are sent; shorten it", text.len());
        root.problem("instruction", message);
        return None;
    }
    Some(Some(text.to_owned()))
}

/// Reads the names of subjects. Unknown subjects are reported later, when the data is read.
fn subjects(root: &Section, key: &'static str) -> Option<Vec<String>> {
    let items = root.list(key)?;
    let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
    let mut is_right = true;
    for (index, (_, value)) in items.into_iter().enumerate() {
        let at = format!("{key}[{index}]");
        match value.as_str().filter(|it| !it.trim().is_empty()) {
            Some(name) if seen.insert(name) => names.push(name.to_owned()),
            Some(name) => {
                root.problem(&at, format!("is {}, which is there twice; take one of them out", quoted(name)));
                is_right = false;
            }
            None => {
                root.problem(&at, format!("is {}; write the name of a subject, such as anatomy", described(value)));
                is_right = false;
            }
        }
    }
    if names.is_empty() && is_right {
        root.problem(key, "is an empty list; name at least one subject, or take it out for all");
        is_right = false;
    }
    is_right.then_some(names)
}

#[cfg(test)]
mod tests;
