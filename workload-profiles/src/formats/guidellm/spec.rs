//! `spec` is the main part of a scenario.

use crds::benchmark_run::Api;
use serde_json::Value;

use super::{
    backend, constraints,
    data::{self, Around},
    profile::{self, Strategy},
    stages,
};
use crate::{
    formats::{
        common::{fields::needs_streaming, files::from_text, times::goal_millis},
        target::Target,
    },
    problem::Findings,
    reader::{Section, ValueType},
    workload::{
        AfterFailure, FileSource, Goodput, LengthField, PromptReuse, RequestSource, Sampling, Sessions, Unit, Window,
        Workload,
    },
};

/// Reads a mapping with `spec`. Returns `None` if at least one problem was reported.
pub(super) fn read(scenario: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let root = Section::root(scenario, &[], findings)?;
    let spec = root.section("spec")?;
    let backend = backend::read(&spec, target);
    let profile = profile::read(&spec);
    let limits = constraints::read(&spec);
    let around = Around {
        max_tokens: backend.as_ref().and_then(|it| it.max_tokens),
        has_messages: backend.as_ref().is_none_or(|it| it.api.has_messages()),
        strategies: profile.as_ref().map(|it| it.strategies.as_slice()),
    };
    let data = data::read(&spec, &around);
    let streaming = backend.as_ref().is_none_or(|it| it.streaming);
    let goodput = metrics(&spec, streaming);
    let tokenizer = tokenizer(&spec, data.as_ref().map(|it| &it.requests));
    unused(&spec);
    let replayed =
        profile.as_ref().and_then(|it| it.strategies.first()).filter(|it| matches!(it, Strategy::Replay { .. }));
    if let (Some(_), Some(data), Some(profile)) = (replayed, &data, &profile)
        && data.trace.is_none()
        && !matches!(data.requests, RequestSource::Recorded(_))
    {
        let remedy = "write a source of kind trace_synthetic, mooncake or weka";
        profile.section.problem("kind", format!("is replay, and the data has no recorded times; {remedy}"));
    }
    let unit = data.as_ref().map(|it| stages::unit(&it.requests));
    let stages = match (profile, &data, unit) {
        (Some(profile), Some(data), Some(unit)) => stages::stages(&spec, profile, &limits, data, unit),
        _ => None,
    };
    spec.finish();
    let (backend, data, stages, unit) = (backend?, data?, stages?, unit?);
    let sampling = Sampling {
        ignore_eos: backend.body.ignore_eos.unwrap_or(data.has_output),
        min_tokens: backend.body.min_tokens,
        length_field: match backend.api {
            Api::Chat => LengthField::MaxCompletionTokens,
            Api::Completions | Api::Responses | Api::Messages => LengthField::MaxTokens,
        },
        extra: backend.body.extra,
    };
    // GuideLLM's figures cover each strategy until its end, when it cancels the requests in flight.
    let window = if stages.iter().all(|it| it.grace.is_some()) { Window::Cut } else { Window::All };
    Some(Workload {
        streaming: backend.streaming,
        model: backend.model,
        headers: backend.headers,
        prompts: PromptReuse::PerStage,
        tokenizer,
        images: data.images,
        sessions: sessions(unit),
        window,
        stop_rules: limits.rules,
        sampling,
        timeouts: backend.timeouts,
        goodput,
        ..Workload::new(backend.api, data.requests, stages)
    })
}

/// If a turn fails, its conversation ends.
fn sessions(unit: Unit) -> Sessions {
    match unit {
        Unit::Request => Sessions::default(),
        Unit::Session => Sessions { unit, after_failure: AfterFailure::End, ..Sessions::default() },
    }
}

/// Returns the tokenizer for the prompts, if the section names a file.
fn tokenizer(spec: &Section, requests: Option<&RequestSource>) -> Option<FileSource> {
    let section = spec.section("tokenizer");
    let named = section.as_ref().and_then(|section| {
        section.choice("kind", &[("huggingface_auto", ()), ("hf_auto", ())]);
        section.section("load_kwargs");
        // Versions before 0.8 use the key `source`.
        let source = section.text("source");
        section.text("model").or(source).map(str::trim).filter(|it| !it.is_empty())
    });
    let file = named.filter(|it| it.ends_with(".json") || it.starts_with(['/', '.', '~']) || it.contains("://"));
    let synthetic = requests.is_some_and(|it| !matches!(it, RequestSource::DataSet(_) | RequestSource::Mock));
    if file.is_none() && synthetic {
        let what = named.map_or_else(
            || "is the tokenizer of the model".to_owned(),
            |it| format!("is {it}, a name of the Hugging Face Hub"),
        );
        let remedy =
            "for prompts of exactly the requested length write {kind: huggingface_auto, model: /path/tokenizer.json}";
        spec.notice(
            "tokenizer",
            format!("{what}, which GuideLLM downloads; here a prompt of n tokens has n words, and {remedy}"),
        );
    }
    let (section, file) = (section?, file.map(tokenizer_file));
    let key = if section.value("model").is_some() { "model" } else { "source" };
    let file = file.and_then(|it| from_text(&section, key, &it));
    section.finish();
    file
}

/// Returns the path of the tokenizer file. `name` is the file itself or its folder.
fn tokenizer_file(name: &str) -> String {
    if name.ends_with(".json") { name.to_owned() } else { format!("{}/tokenizer.json", name.trim_end_matches('/')) }
}

/// Reads `metrics`. Only its objectives affect the load.
fn metrics(spec: &Section, streaming: bool) -> Goodput {
    let mut goodput = Goodput::default();
    let Some(section) = spec.section("metrics") else { return goodput };
    section.choice("kind", &[("generative", ())]);
    section.all_ignored(&[
        ("sample_size", ValueType::Number),
        ("prefer_response_metrics", ValueType::Bool),
        ("confidence", ValueType::Number),
        ("warnings", ValueType::List),
    ]);
    if let Some(slo) = section.section("slo") {
        needs_streaming(&slo, streaming, &["ttft_ms", "tpot_ms"]);
        let goal = |key| goal_millis(&slo, key);
        goodput =
            Goodput { ttft: goal("ttft_ms"), tpot: goal("tpot_ms"), latency: goal("e2el_ms"), ..Goodput::default() };
        slo.finish();
    }
    section.finish();
    goodput
}

/// Checks keys for settings that the run decides.
fn unused(spec: &Section) {
    if let Some(section) = spec.section("seed") {
        section.choice("kind", &[("static", ())]);
        if section.ignored("value", ValueType::Number) {
            section.notice("value", "is not used: the seed of the run decides every draw");
        }
        section.finish();
    }
    if spec.list("outputs").is_some_and(|it| !it.is_empty()) {
        spec.notice("outputs", "are not used: the run decides which reports are written");
    }
}
