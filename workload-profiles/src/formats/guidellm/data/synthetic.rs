//! `synthetic_text`: generated prompts and conversations.

use super::{
    around::{Around, Data},
    tokens::{self, DELAY, FIRST_OUTPUT, FIRST_PROMPT, OUTPUT, PROMPT, TOOL_RESPONSE},
};
use crate::{
    formats::{
        common::bounds::{MAX_PROMPTS, MAX_TOKENS},
        guidellm::values::unsupported,
    },
    reader::{Section, ValueType, described},
    workload::{
        Conversations, History, LengthDistribution, PrefixBucket, PrefixChoice, PrefixPlace, Prefixes, PromptText,
        RequestSource, Shape, TurnLengths,
    },
};

/// Maximum turns per conversation.
const MAX_TURNS: u64 = 10_000;
/// Maximum number of prefix buckets.
const MAX_BUCKETS: usize = 1000;

/// Reads the data source. Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section, around: &Around) -> Option<Data> {
    section.require("prompt_tokens", "write the mean length of prompts in tokens");
    section.section("load_kwargs");
    let input = tokens::lengths(&section, PROMPT);
    let output = tokens::lengths(&section, OUTPUT);
    let first_input = tokens::lengths(&section, FIRST_PROMPT);
    let first_output = tokens::lengths(&section, FIRST_OUTPUT);
    let think_time = tokens::times(&section, DELAY);
    let turns = section.or_default("turns", 1, |it, key| it.count_u32(key, 1..=MAX_TURNS));
    let prefixes = prefixes(&section);
    refuse(&section);
    let has_output = section.value("output_tokens").is_some() || turns == Some(1) && first_output.is_some();
    let output = match (&output, around.max_tokens) {
        (None, _) if turns == Some(1) && first_output.is_some() => first_output.clone(),
        (None, Some(most)) if !has_output => Some(LengthDistribution::fixed(most)),
        (None, None) if !has_output => {
            section.require("output_tokens", "write the length of answers, or set backend.max_tokens; without both the server decides, which this engine does not support for synthetic prompts");
            None
        }
        _ => output,
    };
    if turns == Some(1) && section.value("delay").is_some() {
        section.notice(
            "delay",
            "has no effect, in GuideLLM too: it is the time before the turns after the first, and turns is 1",
        );
    }
    section.finish();
    let (turns, prefixes) = (turns?, prefixes?);
    let requests = if turns == 1 {
        RequestSource::Random {
            input: first_input.or(input)?,
            output: first_output.or(output)?,
            text: PromptText::Words,
            prefixes,
        }
    } else {
        let turn = TurnLengths { input: input?, output: output? };
        let first = TurnLengths {
            input: first_input.unwrap_or_else(|| turn.input.clone()),
            output: first_output.unwrap_or_else(|| turn.output.clone()),
        };
        RequestSource::Conversations(Box::new(Conversations {
            count: None,
            turns: LengthDistribution::fixed(turns),
            prefixes,
            own_system: None,
            first_turn: (first != turn).then_some(first),
            turn,
            think_time,
            history: History::Answers,
            max_context: None,
            seed: None,
        }))
    };
    Some(Data { requests, images: None, has_output, turns, endless: true, rows: None, trace: None })
}

/// Adds a problem for each feature that only GuideLLM supports.
fn refuse(section: &Section) {
    if section.list("branches").is_some_and(|it| !it.is_empty()) {
        section.problem(
            "branches",
            unsupported("a list of branches", "take it out, and write each branch as a source of a run of its own"),
        );
    }
    for key in ["tool_call_turns", "server_tool_call_turns"] {
        let Some(value) = section.value(key) else { continue };
        let none = value.as_array().is_some_and(Vec::is_empty) || value.as_i64() == Some(0);
        if !none {
            section.problem(key, unsupported(&described(value), "take it out, and the turns are sent without tools"));
        }
    }
    // The keys below only affect turns that call tools.
    section.ignored("tools", ValueType::List);
    tokens::lengths(section, TOOL_RESPONSE);
    let delay = tokens::times(section, DELAY).filter(|it| it.shape != Shape::Fixed);
    if delay.is_some() && section.value("turns").is_some() {
        section.notice("delay", "is drawn for each turn; GuideLLM draws it once for each conversation");
    }
}

fn prefixes(section: &Section) -> Option<Prefixes> {
    let short = section.value("prefix_tokens").is_some() || section.value("prefix_count").is_some();
    let tokens = section.or_default("prefix_tokens", 0, |it, key| it.count_u32(key, 0..=MAX_TOKENS));
    let count = section.or_default("prefix_count", 1, |it, key| it.count_u32(key, 0..=MAX_PROMPTS));
    let listed = section.list("prefix_buckets").unwrap_or_default();
    if short && !listed.is_empty() {
        section
            .problem("prefix_buckets", "is written, and so is prefix_tokens or prefix_count; keep one of both forms");
        return None;
    }
    if listed.len() > MAX_BUCKETS {
        section.problem("prefix_buckets", format!("holds {} buckets; write at most {MAX_BUCKETS}", listed.len()));
        return None;
    }
    let buckets = if short {
        vec![PrefixBucket { weight: 1.0, count: count?.max(1), tokens: tokens? }]
    } else {
        let buckets: Vec<Option<PrefixBucket>> =
            listed.into_iter().map(|(path, value)| section.element(value, path).and_then(bucket)).collect();
        buckets.into_iter().collect::<Option<_>>()?
    };
    let all: u64 = buckets.iter().map(|it| u64::from(it.count)).sum();
    if all > MAX_PROMPTS {
        section.problem("prefix_buckets", format!("ask for {all} prefixes; a run has at most {MAX_PROMPTS}"));
        return None;
    }
    if buckets.iter().all(|it| it.tokens == 0) {
        return Some(Prefixes::default());
    }
    Some(Prefixes { buckets, choice: PrefixChoice::Random, place: PrefixPlace::System })
}

fn bucket(section: Section) -> Option<PrefixBucket> {
    let weight = section.or_default("bucket_weight", 100.0, |it, key| it.count(key, 1..=1_000_000).map(|it| it as f64));
    let count = section.or_default("prefix_count", 1, |it, key| it.count_u32(key, 1..=MAX_PROMPTS));
    let tokens = section.or_default("prefix_tokens", 0, |it, key| it.count_u32(key, 0..=MAX_TOKENS));
    section.finish();
    Some(PrefixBucket { weight: weight?, count: count?, tokens: tokens? })
}
