//! priority-mix: even arrivals of several classes of requests, which differ in their objective and their flow. "The original" in
//! comments is the script of llm-d-benchmark.

mod load;
mod prompts;

use std::collections::{BTreeMap, BTreeSet};

use crds::benchmark_run::Api;
use serde_json::Value;

use self::prompts::Prompt;
use super::{
    Target,
    common::{bounds::MAX_TOKENS, headers::headers},
};
use crate::{
    problem::{Findings, quoted},
    reader::{Section, ValueType},
    workload::{Assignment, Extra, Sampling, TrafficClass, TrafficClasses, Workload},
};

/// The header fields that llm-d's gateway reads.
const OBJECTIVE: &str = "x-llm-d-inference-objective";
const FAIRNESS: &str = "x-llm-d-inference-fairness-id";
/// The highest weight, and the most classes.
const MAX_WEIGHT: f64 = 1e9;
const MAX_CLASSES: usize = 1_000;

/// The keys of a profile.
const KEYS: [&str; 6] = ["endpoint_url", "model", "api", "load", "request", "trafficClasses"];

/// Reads a profile. `None` goes with at least one problem in the findings.
pub(super) fn parse(profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let root = Section::root(profile, &KEYS, findings)?;
    let url = root.text("endpoint_url").map(|it| it.trim_end_matches('/')).filter(|it| !it.is_empty());
    if let (Some(url), Some(target)) = (url, target.url)
        && url != target
    {
        let message = format!("is {url}, but requests are sent to the target of the run, {target}");
        root.notice("endpoint_url", message);
    }
    let model = super::common::target::model(&root, "model", target);
    let api = root.section("api").map_or(Some(Api::Chat), api);
    root.require("load", "write duration_seconds and rate_per_second");
    let load = root.section("load").and_then(load::read);
    let common = root.section("request");
    let (streaming, default) = common.map(request).unwrap_or((true, Request::default()));
    let classes = classes(&root, &default);
    root.finish();
    let (stage, timeouts) = load?;
    let (classes, prompts) = classes?;
    let lengths: BTreeSet<u32> = classes.classes.iter().filter_map(|it| it.output).collect();
    let requests = prompts::requests(&prompts, &lengths);
    if prompts.windows(2).any(|pair| pair[0].words != pair[1].words) {
        findings.notice("trafficClasses", "have prompts of different lengths, which are mixed here: each request draws one of these lengths, whatever its class");
    }
    Some(Workload {
        streaming,
        model,
        classes,
        sampling: Sampling::default(),
        timeouts,
        ..Workload::new(api?, requests, vec![stage])
    })
}

fn api(section: Section) -> Option<Api> {
    let apis = [("chat", Api::Chat), ("completion", Api::Completions), ("completions", Api::Completions)];
    let api = section.or_default("type", Api::Chat, |it, key| it.choice(key, &apis));
    let usual = match api {
        Some(Api::Completions) => "/v1/completions",
        _ => "/v1/chat/completions",
    };
    if let Some(path) = section.text("path").filter(|it| *it != usual) {
        section.notice("path", format!("is {}, but requests are sent to {usual}", quoted(path)));
    }
    section.finish();
    api
}

/// What all classes, or one of them, send.
#[derive(Clone, Debug, Default)]
struct Request {
    prompt: Option<Prompt>,
    max_tokens: Option<u32>,
}

fn request(section: Section) -> (bool, Request) {
    let streaming = section.bool("stream").unwrap_or(true);
    if !streaming {
        section.notice("stream", "is off, so that TTFT, TPOT and ITL cannot be measured");
    }
    (streaming, request_of(section))
}

fn request_of(section: Section) -> Request {
    let repeat = section.or_default("promptRepeat", 1, |it, key| it.count_u32(key, 1..=MAX_TOKENS));
    let text = section.text("promptTemplate").or_else(|| section.text("prompt"));
    let prompt = text.zip(repeat).and_then(|(text, repeat)| {
        let prompt = Prompt::new(text, repeat);
        if prompt.is_none() {
            section.problem_of_all(format!("has a prompt without words, or of more than {MAX_TOKENS}; write a text"));
        }
        prompt
    });
    let max_tokens = section.count_u32("max_tokens", 1..=MAX_TOKENS);
    section.finish();
    Request { prompt, max_tokens }
}

fn classes(root: &Section, default: &Request) -> Option<(TrafficClasses, Vec<Prompt>)> {
    root.require("trafficClasses", "write at least one, such as {name: normal, weight: 1}");
    let items = root.list("trafficClasses")?;
    let wanted = items.len();
    if wanted == 0 || wanted > MAX_CLASSES {
        root.problem("trafficClasses", format!("holds {wanted} classes; write 1 to {MAX_CLASSES}"));
        return None;
    }
    let mut names = BTreeSet::new();
    let (mut classes, mut prompts) = (Vec::with_capacity(wanted), Vec::with_capacity(wanted));
    for (path, value) in items {
        let Some(section) = root.element(value, path) else { continue };
        let class = class(&section, default);
        if let Some((class, _)) = &class
            && !names.insert(class.name.clone())
        {
            let message = format!("is {}, the name of an earlier class; choose another one", quoted(&class.name));
            section.problem("name", message);
        }
        section.finish();
        if let Some((class, prompt)) = class {
            prompts.push(Prompt { weight: class.weight, ..prompt });
            classes.push(class);
        }
    }
    (classes.len() == wanted).then_some((TrafficClasses { assignment: Assignment::Random, classes }, prompts))
}

fn class(section: &Section, default: &Request) -> Option<(TrafficClass, Prompt)> {
    section.require("name", "write a name, under which the report shows the figures of the class");
    section.require("weight", "write the share of the requests that are of this class");
    let name = section.text("name").map(str::to_owned);
    let weight = section.positive_number("weight", MAX_WEIGHT);
    let own = section.section("request").map(request_of).unwrap_or_default();
    let prompt = own.prompt.or(default.prompt);
    let max_tokens = own.max_tokens.or(default.max_tokens);
    if prompt.is_none() {
        section.problem("request", "has no prompt, and request at the root has none; write promptTemplate or prompt");
    }
    if max_tokens.is_none() {
        section.problem("request", "has no max_tokens, and request at the root has none; write it in one of them");
    }
    let headers = headers_of(section);
    let class = TrafficClass {
        name: name?,
        weight: weight?,
        model: None,
        headers,
        output: max_tokens,
        extra: Extra::default(),
    };
    Some((class, prompt?))
}

/// The header fields of a class: its own, its objective and its flow.
fn headers_of(section: &Section) -> BTreeMap<String, String> {
    let mut fields = section.section("headers").as_ref().map(headers).unwrap_or_default();
    for (key, name) in [("objective", OBJECTIVE), ("fairnessID", FAIRNESS)] {
        let Some(value) = section.text(key).map(str::trim).filter(|it| !it.is_empty()) else { continue };
        if value.len() > 256 || !value.bytes().all(|it| (b'!'..=b'~').contains(&it)) {
            section.problem(key, format!("is {}; write at most 256 ASCII characters without blanks", quoted(value)));
        }
        fields.insert(name.to_owned(), value.to_owned());
    }
    if section.ignored("priority", ValueType::Number) && section.value("objective").is_none() {
        let message = "is not sent, as in the original, which only shows it in its results; the server takes the priority from the objective";
        section.notice("priority", message);
    }
    fields
}

#[cfg(test)]
mod tests;
