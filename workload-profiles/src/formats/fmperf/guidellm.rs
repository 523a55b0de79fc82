//! The class GuideLLM of fmperf: fmperf runs GuideLLM with a few of its options.

use serde_json::{Map, Value, json};

use super::place::place;
use crate::{
    formats::{
        common::bounds::{MAX_STAGE_SECONDS, MAX_TOKENS},
        guidellm,
        target::Target,
    },
    problem::Findings,
    reader::{Section, ValueType},
    workload::{MAX_REQUESTS, Workload},
};

/// Each of these keys identifies the class.
pub(super) const KEYS: [&str; 6] =
    ["rate_type", "prompt_tokens", "max_requests", "max_seconds", "output_format", "output_path"];

/// Reads a profile as the options that fmperf passes to GuideLLM. Returns `None` if at least one problem was reported.
pub(super) fn read(root: Section, target: Target, findings: &Findings) -> Option<Workload> {
    place(&root);
    root.ignored("output_format", ValueType::Text);
    root.ignored("output_path", ValueType::Text);
    let tokens = |key, default: u32| root.or_default(key, default, |it, key| it.count_u32(key, 1..=MAX_TOKENS));
    let (input, output) = (tokens("prompt_tokens", 256), tokens("output_tokens", 128));
    let requests = root.or_default("max_requests", 100, |it, key| it.count(key, 1..=MAX_REQUESTS));
    let seconds = root.or_default("max_seconds", 100.0, |it, key| it.positive_number(key, MAX_STAGE_SECONDS as f64));
    let kind = root.or_default("rate_type", "sweep", |it, key| it.text(key));
    let mut options = Map::new();
    for (key, name) in [("model_name", "model"), ("rate", "rate")] {
        if let Some(value) = root.value(key) {
            options.insert(name.to_owned(), value.clone());
        }
    }
    root.finish();
    options.insert("target".to_owned(), json!(target.url.unwrap_or("http://localhost:8000")));
    options.insert("rate_type".to_owned(), json!(kind?));
    // The versions of GuideLLM that fmperf started send text completions.
    options.insert("request_type".to_owned(), json!("text_completions"));
    options.insert("data".to_owned(), json!({"prompt_tokens": input?, "output_tokens": output?}));
    options.insert("max_requests".to_owned(), json!(requests?));
    options.insert("max_seconds".to_owned(), json!(seconds?));
    guidellm::parse(&Value::Object(options), target, findings)
}
