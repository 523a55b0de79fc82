//! The flags of `aiperf profile` (version 0.13), as a flat mapping or as a command line.

mod data;
mod flags;
mod lists;
mod load;
mod server;

use std::sync::LazyLock;

use serde_json::Value;

use super::{
    common::{flags as common_flags, headers::header_name, stage_length},
    format::{Format, profile},
    target::Target,
};
use crate::{
    problem::Findings,
    reader::{Section, ValueType},
    workload::{LengthField, Load, Margin, PromptReuse, Sampling, Sessions, Stage, Timeouts, Unit, Workload},
    yaml,
};

/// The flags that an override can add.
pub(super) fn root_keys() -> &'static [&'static str] {
    static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(|| flags::AIPERF.read_names().collect());
    &KEYS
}

/// Whether the tool has this flag. `name` is written with hyphens.
pub(super) fn has_flag(name: &str) -> bool {
    flags::AIPERF.has_flag(name)
}

/// The names of the flags that determine a stage's length, for error messages.
pub(super) const STAGE_LENGTH: stage_length::Keys = stage_length::Keys {
    count: |stage| if is_warm_up(stage) { "warmup-request-count" } else { "request-count" },
    rate: |stage| match stage.load {
        _ if is_warm_up(stage) => "warmup-request-rate",
        Load::Users { .. } => "user-centric-rate",
        _ => "request-rate",
    },
    ramp_up: "concurrency-ramp-duration",
};

fn is_warm_up(stage: &Stage) -> bool {
    stage.warm_up == Some(Margin::All)
}

/// The profiles of AIPerf.
pub(super) const FORMAT: Format = Format {
    parse,
    root_keys,
    stage_length: Some(STAGE_LENGTH),
    shipped: &[profile!("aiperf", "dataset"), profile!("aiperf", "synthetic")],
};

/// Reads a profile. `None` means that the findings contain at least one problem.
fn parse(profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let flags = match profile {
        Value::String(text) => {
            common_flags::from_command_line(text, &[&["aiperf", "profile"]], flags::AIPERF, findings)
        }
        mapping => common_flags::from_mapping(mapping, flags::AIPERF, findings),
    };
    let mut flags = flags?;
    type_extra_inputs(&mut flags);
    let root = Section::root(&flags, &[], findings)?;
    let api = server::api(&root, target);
    let counts = load::counts(&root);
    let data = counts.as_ref().and_then(|it| data::read(&root, it));
    let stages = counts.as_ref().and_then(|it| load::read(&root, it, data.as_ref()));
    let (timeout, goodput, abandonment) = (server::timeout(&root), load::goodput(&root), load::abandonment(&root));
    check_repeats(&root);
    let (api, counts, data, stages) = (api?, counts?, data?, stages?);
    let mut workload = Workload::new(api, data.requests, stages);
    server::fill(&root, target, &mut workload);
    workload.tokenizer = super::common::tokenizer::tokenizer(&root, "AIPerf", data.needs_tokenizer);
    workload.sampling = sampling(&root, data.sends_length);
    workload.images = data.images;
    workload.prompts = prompt_reuse(&root);
    workload.sessions = sessions(&root, &counts);
    workload.timeouts = Timeouts { request: timeout, ..Timeouts::default() };
    workload.goodput = goodput;
    workload.abandonment = abandonment;
    for flag in root.unread() {
        root.notice(flag, "is not used: it belongs to another kind of load or data");
    }
    Some(workload)
}

/// Gives the values of `extra-inputs` the types that AIPerf infers from their texts.
fn type_extra_inputs(flags: &mut Value) {
    let Some(fields) = flags.get_mut("extra-inputs").and_then(Value::as_object_mut) else { return };
    for value in fields.values_mut() {
        if let Some(typed) = value.as_str().and_then(|it| yaml::typed(it).ok()) {
            *value = typed;
        }
    }
}

fn sampling(root: &Section, sends_length: bool) -> Sampling {
    let legacy = root.bool("use-legacy-max-tokens") == Some(true);
    let length_field = match (sends_length, legacy) {
        (false, _) => LengthField::NotSent,
        (true, true) => LengthField::MaxTokens,
        (true, false) => LengthField::MaxCompletionTokens,
    };
    let mut sampling = Sampling { length_field, ..Sampling::default() };
    super::common::request_fields::add_request_fields(root, "extra-inputs", &mut sampling);
    sampling
}

/// Returns whether runs send the same prompts. AIPerf's runs send different prompts without a seed, and the same prompts with a seed.
fn prompt_reuse(root: &Section) -> PromptReuse {
    if !root.ignored("random-seed", ValueType::Number) {
        return PromptReuse::Fresh;
    }
    root.notice(
        "random-seed",
        "is not used itself: the seed of the run decides every draw; texts are the same in every run with the same seed, as with AIPerf",
    );
    PromptReuse::PerStage
}

fn sessions(root: &Section, counts: &load::Counts) -> Sessions {
    let unit = if counts.counts_sessions { Unit::Session } else { Unit::Request };
    let strategies = [("pooled", Some(false)), ("sticky-user-sessions", Some(true)), ("never", None)];
    let strategy = root.choice("connection-reuse-strategy", &strategies);
    if strategy == Some(None) {
        root.problem(
            "connection-reuse-strategy",
            "is never, which is not supported; choose one of pooled and sticky-user-sessions",
        );
    }
    let header = header_name(root, "session-header");
    Sessions { unit, header, keep_connection: strategy == Some(Some(true)), ..Sessions::default() }
}

fn check_repeats(root: &Section) {
    if root.count("num-profile-runs", 1..=1_000).is_some_and(|it| it > 1) {
        root.problem(
            "num-profile-runs",
            "is above 1, which is not supported; take it out, and start the run several times",
        );
    }
}

#[cfg(test)]
mod tests;
