//! Keys that several formats share.

use std::collections::BTreeMap;

use crds::{benchmark_run::Api, units::Span};
use serde_json::Value;

use super::bounds::{MAX_CONCURRENCY, MAX_PAUSE_SECONDS, MAX_STAGE_SECONDS, MAX_TOKENS};
use crate::{
    reader::Section,
    workload::{Extra, LengthField, MAX_REQUESTS, Sampling, Timeouts},
};

/// Reads the key `api`. The default is completions.
pub(in crate::formats) fn api(root: &Section) -> Option<Api> {
    root.or_default("api", Api::Completions, |it, key| it.choice(key, &apis()))
}

/// The names of each API: first the names in profiles, then the names in reports.
fn apis() -> [(&'static str, Api); 8] {
    [
        ("completions", Api::Completions),
        ("chat", Api::Chat),
        ("responses", Api::Responses),
        ("messages", Api::Messages),
        ("OpenAICompletions", Api::Completions),
        ("OpenAIChat", Api::Chat),
        ("OpenAIResponses", Api::Responses),
        ("AnthropicMessages", Api::Messages),
    ]
}

/// Reads the section `sampling`. Absent keys have the values from `defaults`.
pub(in crate::formats) fn sampling(root: &Section, defaults: Sampling) -> Sampling {
    let Some(section) = root.section("sampling") else { return defaults };
    let fields = [
        ("maxTokens", LengthField::MaxTokens),
        ("maxCompletionTokens", LengthField::MaxCompletionTokens),
        ("notSent", LengthField::NotSent),
    ];
    let mut sampling = defaults;
    sampling.ignore_eos = section.bool("ignoreEos").unwrap_or(sampling.ignore_eos);
    let min_tokens = section.count_u32("minTokens", 1..=MAX_TOKENS);
    sampling.min_tokens = min_tokens.or(sampling.min_tokens);
    sampling.length_field = section.choice("lengthField", &fields).unwrap_or_default();
    sampling.extra = extra(&section).unwrap_or(sampling.extra);
    section.finish();
    sampling
}

/// Sets the temperature to 0, so that the model always chooses the likeliest token. A temperature in the sampling is kept.
pub(in crate::formats) fn greedy(sampling: Sampling) -> Sampling {
    let mut fields = BTreeMap::from(sampling.extra.clone());
    fields.entry("temperature".to_owned()).or_insert_with(|| 0.into());
    // If the fields exceed the maximum size with the temperature, they are sent without it.
    let extra = Extra::try_from(fields).unwrap_or_else(|_| sampling.extra.clone());
    Sampling { extra, ..sampling }
}

/// Reads the section `extra`: additional fields of the request body.
pub(in crate::formats) fn extra(parent: &Section) -> Option<Extra> {
    let section = parent.section("extra")?;
    let fields: BTreeMap<String, Value> = section.entries().map(|(key, it)| (key.to_owned(), it.clone())).collect();
    match Extra::try_from(fields) {
        Ok(extra) => Some(extra),
        Err(error) => {
            parent.problem("extra", format!("cannot be sent: {error}"));
            None
        }
    }
}

/// If answers are not streamed, adds a problem for each of the given keys, because these keys only apply to a stream.
pub(in crate::formats) fn needs_streaming(section: &Section, streaming: bool, keys: &[&'static str]) {
    for key in keys.iter().filter(|key| !streaming && section.value(key).is_some()) {
        section
            .problem(key, "is measured in streams only, and streaming is off; take it out, or set streaming to true");
    }
}

/// Reads the section `timeouts`. Absent keys have the values from `defaults`.
pub(in crate::formats) fn timeouts(root: &Section, defaults: Timeouts, streaming: bool) -> Timeouts {
    let Some(section) = root.section("timeouts") else { return defaults };
    needs_streaming(&section, streaming, &["firstToken", "tokenGap"]);
    let limit = |key| section.positive_span(key, MAX_PAUSE_SECONDS);
    let timeouts = Timeouts {
        connect: limit("connect").unwrap_or(defaults.connect),
        first_token: limit("firstToken").or(defaults.first_token),
        token_gap: limit("tokenGap").or(defaults.token_gap),
        request: limit("request").or(defaults.request),
    };
    section.finish();
    timeouts
}

/// Reads a concurrency.
pub(in crate::formats) fn concurrency(section: &Section, key: &'static str) -> Option<u32> {
    section.count_u32(key, 1..=MAX_CONCURRENCY)
}

/// Reads a number of requests.
pub(in crate::formats) fn request_count(section: &Section, key: &'static str) -> Option<u64> {
    section.count(key, 1..=MAX_REQUESTS)
}

/// Reads a required time since the start of the stage.
pub(in crate::formats) fn stage_time(section: &Section, key: &'static str) -> Option<Span> {
    section.require(key, "write a time from the start of the stage, such as 30s");
    section.span(key, MAX_STAGE_SECONDS)
}
