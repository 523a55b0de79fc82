//! Benchwright's own profile format: a [`Workload`] as `report.json` writes it, less what has a default, and with a few short
//! forms. What a report holds under `workload` is a profile of this format.
//!
//! Every key is told in `docs/profiles.md`.

mod load;
mod margins;
mod rate;
mod requests;
mod trace;

use crds::units::{RequestRate, Span};
use serde_json::Value;

use super::{
    Target,
    common::{
        bounds::{MAX_PAUSE_SECONDS, MAX_TOKENS},
        fields::{api, model, named, needs_streaming, sampling, timeouts},
        headers::headers,
    },
};
use crate::{
    problem::Findings,
    reader::Section,
    workload::{Abandonment, Departure, Goodput, Margin, Probes, PromptReuse, Sampling, Timeouts, Window, Workload},
};

/// The keys of a profile.
pub(super) const KEYS: [&str; 15] = [
    "abandonment",
    "api",
    "coolDown",
    "goodput",
    "headers",
    "model",
    "probes",
    "prompts",
    "requests",
    "sampling",
    "stages",
    "streaming",
    "timeouts",
    "warmUp",
    "window",
];
/// The most probes a second: more would be a load.
const MAX_PROBE_RATE: f64 = 100.0;
/// The longest prompt and answer of a probe, in tokens.
const MAX_PROBE_TOKENS: u64 = 1_024;

/// Reads a profile. `None` goes with at least one problem in the findings.
pub(super) fn parse(profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let root = Section::root(profile, findings)?;
    let api = api(&root);
    let model = model(&root, target);
    let streaming = root.bool("streaming").unwrap_or(true);
    if !streaming {
        root.notice("streaming", "is off, so that TTFT, TPOT and ITL cannot be measured");
    }
    let windows = [("all", Window::All), ("trimmed", Window::Trimmed), ("cut", Window::Cut)];
    let window = root.choice("window", &windows).unwrap_or_default();
    let requests = requests::read(&root);
    let texts = [("fresh", PromptReuse::Fresh), ("repeated", PromptReuse::Repeated)];
    let prompts = root.choice("prompts", &texts).unwrap_or_default();
    let stages = load::read(&root, window, requests.as_ref());
    let headers = root.section("headers").as_ref().map(headers).unwrap_or_default();
    let abandonment = root.section("abandonment").and_then(abandonment);
    let probes = root.section("probes").and_then(probes);
    let sampling = sampling(&root, Sampling { ignore_eos: true, ..Sampling::default() }, &KEYS);
    let timeouts = timeouts(&root, Timeouts::default(), streaming, &KEYS);
    let goodput = root.section("goodput").map(|it| goodput(it, streaming)).unwrap_or_default();
    root.finish(&KEYS);
    // Only now: what is wrong elsewhere is told as well.
    Some(Workload {
        api: api?,
        streaming,
        model,
        headers,
        requests: requests?,
        prompts,
        stages: stages?,
        loadgen: None,
        window,
        abandonment,
        probes,
        sampling,
        timeouts,
        goodput,
    })
}

fn goodput(section: Section, streaming: bool) -> Goodput {
    needs_streaming(&section, streaming, &["ttft", "tpot", "itl"]);
    let bound = |key| section.span(key, false, MAX_PAUSE_SECONDS);
    let goodput = Goodput {
        ttft: bound("ttft"),
        tpot: bound("tpot"),
        itl: bound("itl"),
        ntpot: bound("ntpot"),
        request_latency: bound("requestLatency"),
    };
    section.finish(&KEYS);
    goodput
}

fn abandonment(section: Section) -> Option<Abandonment> {
    section.missing("share", "write the share of the requests whose client goes away, 0 to 1");
    section.missing("after", "write when it goes, such as {exponential: {mean: 5s}} or {tokens: 10}");
    let share = section.number("share", 0.0..=1.0);
    let after = section.variant("after", &["uniform", "exponential", "tokens"]).and_then(|(kind, within)| {
        let within = named(&section, "after", kind, within)?;
        departure(kind, &within)
    });
    section.finish(&KEYS);
    Some(Abandonment { share: share?, after: after? })
}

fn departure(kind: &str, within: &Section) -> Option<Departure> {
    let span = |section: &Section, key, zero| section.span(key, zero, MAX_PAUSE_SECONDS);
    match kind {
        "tokens" => within.count("tokens", 1..=MAX_TOKENS).and_then(|it| u32::try_from(it).ok()).map(Departure::Tokens),
        "exponential" => {
            let section = within.section("exponential")?;
            section.missing("mean", "write the mean time from sending on");
            let mean = span(&section, "mean", false);
            section.finish(&KEYS);
            Some(Departure::Exponential { mean: mean? })
        }
        _ => {
            let section = within.section("uniform")?;
            section.missing("max", "write the longest time from sending on");
            let (min, max) = (span(&section, "min", true).unwrap_or_default(), span(&section, "max", false));
            if max.is_some_and(|max| min > max) {
                let max = max.unwrap_or_default();
                section.problem("min", format!("is {min}, above max, which is {max}; lower it, or raise max"));
            }
            section.finish(&KEYS);
            Some(Departure::Uniform { min, max: max? })
        }
    }
}

fn probes(section: Section) -> Option<Probes> {
    section.missing("rate", "write how many probes are sent a second, such as 1");
    let rate = section.positive("rate", MAX_PROBE_RATE).and_then(|it| RequestRate::try_from(it).ok());
    let length = |key, default| match section.value(key) {
        None => Some(default),
        Some(_) => section.count(key, 1..=MAX_PROBE_TOKENS).and_then(|it| u32::try_from(it).ok()),
    };
    let (input, output) = (length("input", 8), length("output", 1));
    section.finish(&KEYS);
    Some(Probes { rate: rate?, input: input?, output: output? })
}

/// The begin or the end of a stage; `all` says whether it may be the whole of it.
fn margin(section: &Section, key: &'static str, all: bool) -> Option<Margin> {
    let kinds: &[&'static str] = if all { &["duration", "count", "all"] } else { &["duration", "count"] };
    let (kind, within) = section.variant(key, kinds)?;
    if kind == "all" && within.is_none() {
        return Some(Margin::All);
    }
    let within = named(section, key, kind, within)?;
    match kind {
        "duration" => within.span("duration", true, MAX_PAUSE_SECONDS).map(Margin::Duration),
        "count" => within.count("count", 0..=crate::workload::MAX_REQUESTS).map(Margin::Count),
        _ => {
            within.problem("all", format!("has no value; write {key}: all"));
            None
        }
    }
}

/// A pause, or the end of a stage's grace.
fn pause(section: &Section, key: &'static str) -> Option<Span> {
    section.span(key, true, MAX_PAUSE_SECONDS)
}

#[cfg(test)]
mod tests;
