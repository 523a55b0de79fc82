//! Benchwright's own profile format. It has the same structure as the `workload` in `report.json`, so this part of a report is a valid profile. A
//! profile may omit keys with a default, and write some values in a short form.
//!
//! `docs/profiles.md` describes every key.

mod abandonment;
mod arrivals;
mod classes;
mod combinations;
mod conversations;
mod data_set;
mod images;
mod load;
mod margins;
mod measured;
mod prefixes;
mod probes;
mod rate;
mod recorded;
mod requests;
mod sessions;
mod stages;
mod stop_rules;
mod trace;

use serde_json::Value;

use super::{
    common::{
        accuracy,
        bounds::MAX_PAUSE_SECONDS,
        fields::{api, greedy, needs_streaming, sampling, timeouts},
        files::file_source,
        headers::headers,
        target::model,
    },
    format::{Format, profile},
    target::Target,
};
use crate::{
    problem::Findings,
    reader::Section,
    workload::{Goodput, PromptReuse, Sampling, Timeouts, Window, Workload},
};

/// The keys at the root of a profile.
pub(super) const KEYS: [&str; 22] = [
    "abandonment",
    "accuracy",
    "api",
    "classes",
    "coolDown",
    "corpus",
    "goodput",
    "headers",
    "images",
    "model",
    "probes",
    "prompts",
    "requests",
    "sampling",
    "sessions",
    "stages",
    "stopRules",
    "streaming",
    "timeouts",
    "tokenizer",
    "warmUp",
    "window",
];

/// The profiles of Benchwright.
pub(super) const FORMAT: Format = Format {
    parse,
    root_keys: || &KEYS,
    stage_length: None,
    shipped: &[
        profile!("benchwright", "burst"),
        profile!("benchwright", "bursty_gamma"),
        profile!("benchwright", "code_completion"),
        profile!("benchwright", "code_generation"),
        profile!("benchwright", "concurrency_ramp"),
        profile!("benchwright", "diurnal"),
        profile!("benchwright", "image_classification"),
        profile!("benchwright", "interactive_chat"),
        profile!("benchwright", "poisson_sweep"),
        profile!("benchwright", "ramp"),
        profile!("benchwright", "sanity_constant"),
        profile!("benchwright", "sanity_random"),
        profile!("benchwright", "spike"),
        profile!("benchwright", "summarization"),
        profile!("benchwright", "text_classification"),
        profile!("benchwright", "text_generation"),
        profile!("benchwright", "trace_replay"),
        profile!("benchwright", "translation"),
    ],
};

/// Reads a profile. `None` means that the findings contain at least one problem.
fn parse(profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let root = Section::root(profile, &KEYS, findings)?;
    let api = api(&root);
    let model = model(&root, "model", target);
    let streaming = root.bool("streaming").unwrap_or(true);
    if !streaming {
        root.notice("streaming", "is off, so that TTFT, TPOT and ITL cannot be measured");
    }
    let windows = [("all", Window::All), ("trimmed", Window::Trimmed), ("cut", Window::Cut)];
    let window = root.choice("window", &windows).unwrap_or_default();
    let requests = requests::read(&root);
    let texts =
        [("fresh", PromptReuse::Fresh), ("perStage", PromptReuse::PerStage), ("repeated", PromptReuse::Repeated)];
    let prompts = root.choice("prompts", &texts).unwrap_or_default();
    let (tokenizer, corpus) = (file_source(&root, "tokenizer"), file_source(&root, "corpus"));
    let images = root.section("images").and_then(images::read);
    let classes = root.section("classes").and_then(classes::read).unwrap_or_default();
    let sessions = root.section("sessions").and_then(sessions::read).unwrap_or_default();
    let stages = stages::read(&root, window, requests.as_ref());
    let headers = root.section("headers").as_ref().map(headers).unwrap_or_default();
    let abandonment = root.section("abandonment").and_then(abandonment::read);
    let probes = root.section("probes").and_then(probes::read);
    let stop_rules = stop_rules::read(&root, streaming).unwrap_or_default();
    let accuracy = root.section("accuracy").and_then(|it| accuracy::read(it, None));
    // If answers are scored, the model decides where they end. So end-of-sequence tokens are then not ignored by default.
    let sampling = sampling(&root, Sampling { ignore_eos: accuracy.is_none(), ..Sampling::default() });
    let sampling = if accuracy.is_some() { greedy(sampling) } else { sampling };
    let timeouts = timeouts(&root, Timeouts::default(), streaming);
    let goodput = root.section("goodput").map(|it| goodput(it, streaming)).unwrap_or_default();
    if let (Some(requests), Some(stages)) = (&requests, &stages) {
        combinations::check(&root, requests, stages, images.as_ref());
        combinations::check_accuracy(&root, requests, accuracy.as_ref());
        combinations::check_template(&root, requests, tokenizer.as_ref());
    }
    root.finish();
    // The `?` operators come only here, so that all keys are read and all problems are found.
    Some(Workload {
        streaming,
        model,
        headers,
        prompts,
        tokenizer,
        corpus,
        images,
        classes,
        sessions,
        accuracy,
        window,
        abandonment,
        probes,
        stop_rules,
        sampling,
        timeouts,
        goodput,
        ..Workload::new(api?, requests?, stages?)
    })
}

fn goodput(section: Section, streaming: bool) -> Goodput {
    needs_streaming(&section, streaming, &["ttft", "tpot", "itl"]);
    let bound = |key| section.positive_span(key, MAX_PAUSE_SECONDS);
    let goodput = Goodput {
        ttft: bound("ttft"),
        tpot: bound("tpot"),
        itl: bound("itl"),
        ntpot: bound("ntpot"),
        latency: bound("latency"),
    };
    section.finish();
    goodput
}

#[cfg(test)]
mod tests;
