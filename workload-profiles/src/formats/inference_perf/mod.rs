//! The profile format of inference-perf (version 0.6).
//!
//! The sections api, circuit_breakers, data, load, report, server and tokenizer describe the load. A feature of inference-perf that this engine does
//! not support is a problem. Sections and keys about inference-perf's own work, such as its worker processes, have no effect. Only their types are
//! checked, with a notice if an author may expect an effect. inference-perf silently ignores some mistakes, such as a `data` section in the wrong
//! place, or `std` instead of `std_dev`. Here they are read as the author meant them, with a notice.

mod api;
mod circuit_breakers;
mod data;
mod lengths;
mod load;
mod nested_data;
mod report;
mod server;
mod tokenizer;
mod trace;
mod unused;
mod values;

use serde_json::Value;

use self::{api::ApiSection, data::DataSection};
use super::{
    common::stage_length,
    format::{Format, profile},
    target::Target,
};
use crate::{
    problem::Findings,
    reader::Section,
    workload::{RequestSource, Sampling, Timeouts, Workload},
};

/// The sections of a profile.
pub(super) const SECTIONS: [&str; 10] =
    ["api", "circuit_breakers", "data", "load", "metrics", "observability", "report", "server", "storage", "tokenizer"];

/// The names of the keys that determine a stage's length, for error messages.
const STAGE_LENGTH: stage_length::Keys =
    stage_length::Keys { count: |_| "num_requests", rate: |_| "load.stages", ramp_up: "load.stages" };

/// The profiles of inference-perf.
pub(super) const FORMAT: Format = Format {
    parse,
    root_keys: || &SECTIONS,
    stage_length: Some(STAGE_LENGTH),
    shipped: &[
        profile!("inference-perf", "agent_llm_traces_v2"),
        profile!("inference-perf", "agentic_code_generation"),
        profile!("inference-perf", "chatbot_sharegpt"),
        profile!("inference-perf", "chatbot_synthetic"),
        profile!("inference-perf", "code_completion_synthetic"),
        profile!("inference-perf", "guide_kimi-k3-h100_1"),
        profile!("inference-perf", "guide_multimodal-serving_1"),
        profile!("inference-perf", "guide_optimized-baseline_1"),
        profile!("inference-perf", "guide_optimized-baseline_2"),
        profile!("inference-perf", "guide_p2p-kv-cache-sharing_1"),
        profile!("inference-perf", "guide_pd-disaggregation_1"),
        profile!("inference-perf", "guide_pd-disaggregation_2"),
        profile!("inference-perf", "guide_precise-prefix-cache-routing_1"),
        profile!("inference-perf", "guide_precise-prefix-cache-routing_2"),
        profile!("inference-perf", "guide_predicted-latency-routing_1"),
        profile!("inference-perf", "guide_tiered-prefix-cache_1"),
        profile!("inference-perf", "guide_wide-ep-lws_1"),
        profile!("inference-perf", "interactive-chat"),
        profile!("inference-perf", "otel_traces"),
        profile!("inference-perf", "random_concurrent"),
        profile!("inference-perf", "sanity_random"),
        profile!("inference-perf", "sanity_random_concurrent"),
        profile!("inference-perf", "shared_prefix_multi_turn_chat"),
        profile!("inference-perf", "shared_prefix_synthetic"),
        profile!("inference-perf", "shared_prefix_synthetic_aggressive"),
        profile!("inference-perf", "shared_prefix_synthetic_heavy"),
        profile!("inference-perf", "shared_prefix_synthetic_short"),
        profile!("inference-perf", "summarization_synthetic"),
        profile!("inference-perf", "weka_traces"),
    ],
};

/// Reads a profile. `None` means that the findings contain at least one problem.
fn parse(profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    findings.tolerate_unknown_keys("not used; inference-perf ignores it up to version 0.6.1, and refuses it later");
    let nested = nested_data::find(profile, findings);
    let rest = nested.as_ref().map(|it| &it.rest);
    let root = Section::root(rest.unwrap_or(profile), &SECTIONS, findings)?;
    let call = ApiSection::read(root.section("api"));
    let (model, ignore_eos) = server::read(root.section("server"), target);
    let data = match &nested {
        Some(nested) => root.element(nested.data, nested.path.clone()),
        None => root.section("data"),
    };
    if data.is_none() {
        nested_data::report_missing(&root, profile);
    }
    let data = data.and_then(|it| data::read(it, call.api, has_several_stages(profile)));
    root.require("load", "write its type and stages, such as load: {type: poisson, stages: [{rate: 1, duration: 30}]}");
    let load = root.section("load").and_then(|it| load::read(it, data.as_ref()));
    let stop_rules = load.as_ref().map(|it| circuit_breakers::read(&root, &it.circuit_breakers));
    note_sweep(&root, profile, data.as_ref());
    let goodput = report::read(root.section("report"), &call);
    let tokenizer = tokenizer::read(root.section("tokenizer"));
    unused::check(&root);
    let sessions =
        data.as_ref().zip(load.as_ref()).map(|(data, load)| call.sessions(&root, load.unit, data.has_sessions()));
    root.finish();
    let (data, load) = (data?, load?);
    Some(Workload {
        streaming: call.streaming,
        model: data.model.or(model),
        headers: call.headers,
        tokenizer,
        corpus: data.corpus,
        images: data.images,
        classes: load.classes,
        sessions: sessions?,
        stop_rules: stop_rules?,
        sampling: Sampling { ignore_eos, extra: call.extra, ..Sampling::default() },
        timeouts: Timeouts { request: Some(load.request_timeout), ..Timeouts::default() },
        goodput,
        ..Workload::new(call.api, data.requests, load.stages)
    })
}

/// Adds a notice about lengths in a sweep. inference-perf draws one length for each request of the stages, but a sweep has no stages. So
/// inference-perf draws only one length, and sends only the first request.
fn note_sweep(root: &Section, profile: &Value, data: Option<&DataSection>) {
    let drawn = data.is_some_and(|it| matches!(it.requests, RequestSource::Random { .. }) && it.trace.is_none());
    if !drawn || profile.pointer("/load/sweep").is_none_or(Value::is_null) {
        return;
    }
    for key in ["input_distribution", "output_distribution"] {
        if profile.pointer(&format!("/data/{key}/total_count")).is_none() {
            let message = "is missing; without it inference-perf sends only the first request of a sweep, here every request is sent";
            root.notice(&format!("data.{key}.total_count"), message);
        }
    }
}

fn has_several_stages(profile: &Value) -> bool {
    let stages = profile.pointer("/load/stages").and_then(Value::as_array);
    profile.pointer("/load/sweep").is_some_and(Value::is_object) || stages.is_some_and(|it| it.len() > 1)
}

#[cfg(test)]
mod tests;
