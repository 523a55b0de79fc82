//! The profile format of inference-perf (version 0.6). "The original" in comments is inference-perf.
//!
//! The sections api, data, load, server and report describe the load. What the original supports and this engine does not is
//! refused by name. Sections and keys about the original itself, such as its worker processes, are only checked for their types,
//! with a notice where an author may expect more. Mistakes that the original ignores without a message are reported, such as a
//! `data` section in the wrong place, or `std` in place of `std_dev`.

mod api;
mod data;
mod lengths;
mod load;
mod report;
mod server;
mod trace;
mod unused;
mod values;

use crds::benchmark_run::Api;
use serde_json::Value;

use self::api::ApiSection;
use super::Target;
use crate::{
    problem::Findings,
    reader::Section,
    workload::{RequestSource, Sampling, Timeouts, Workload},
};

/// The sections of a profile.
const SECTIONS: [&str; 9] =
    ["api", "circuit_breakers", "data", "load", "metrics", "report", "server", "storage", "tokenizer"];

/// Reads a profile. `None` goes with at least one problem in the findings.
pub(super) fn parse(profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let root = Section::root(profile, &SECTIONS, findings)?;
    let call = ApiSection::read(root.section("api"));
    let (model, ignore_eos) = server::read(root.section("server"), target);
    let requests = match root.section("data") {
        Some(section) => data::read(section),
        None => {
            missing_data(&root, profile);
            None
        }
    };
    root.require("load", "write its type and stages, such as load: {type: poisson, stages: [{rate: 1, duration: 30}]}");
    if call.api == Api::Chat && matches!(requests.as_ref().map(|it| &it.requests), Some(RequestSource::Random { .. })) {
        root.notice("api.type", "is chat, which inference-perf refuses for data.type random and synthetic; here each prompt is sent as one message of a user");
    }
    let lengths = requests.as_ref().and_then(|it| it.trace.as_ref());
    let load = root.section("load").and_then(|it| load::read(it, lengths));
    let goodput = report::read(root.section("report"), &call);
    unused::check(&root);
    root.finish();
    let load = load?;
    Some(Workload {
        streaming: call.streaming,
        model,
        headers: call.headers,
        sampling: Sampling { ignore_eos, extra: call.extra, ..Sampling::default() },
        timeouts: Timeouts { request: Some(load.request_timeout), ..Timeouts::default() },
        goodput,
        ..Workload::new(call.api, requests?.requests, load.stages)
    })
}

/// Without `data` the original sends mock prompts and does not say so, and a wrong indentation changes the load.
fn missing_data(root: &Section, profile: &Value) {
    let nested = profile.as_object().into_iter().flatten().find(|(_, value)| value.get("data").is_some());
    let remedy = match nested {
        Some((section, _)) => format!(
            "move {section}.data to the root of the profile; where it is, inference-perf would send mock prompts and not say so"
        ),
        None => "write what to send, or data: {type: mock} for the mock prompts that inference-perf sends without it"
            .to_owned(),
    };
    root.require("data", &remedy);
}

#[cfg(test)]
mod tests;
