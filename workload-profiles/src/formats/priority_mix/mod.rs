//! priority-mix: llm-d-benchmark's script that sends evenly spaced requests of several classes. The classes differ in their objective and their flow.

mod classes;
mod load;
mod prompts;
mod request;

use std::collections::BTreeSet;

use crds::benchmark_run::Api;
use serde_json::{Map, Value};

use self::request::Request;
use super::{
    common::target::{check_url, model},
    format::{Format, profile},
    target::Target,
};
use crate::{
    problem::{Findings, quoted},
    reader::Section,
    workload::{Sampling, Workload},
};

/// The keys of a profile.
const KEYS: [&str; 7] = ["endpoint_url", "model", "api", "load", "request", "trafficClasses", "traffic_classes"];

/// The profiles of priority-mix.
pub(super) const FORMAT: Format =
    Format { parse, root_keys: || &[], stage_length: None, shipped: &[profile!("priority-mix", "priority_mix")] };

/// Reads a profile. `None` means that the findings contain at least one problem.
fn parse(profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let empty = Value::Object(Map::new());
    let root = Section::root(profile, &KEYS, findings)?;
    check_url(&root, "endpoint_url", target);
    let model = model(&root, "model", target);
    let api = root.section("api").map_or(Some(Api::Chat), api);
    // A profile without `load` is valid, because all keys of the load have defaults.
    let load = match root.value("load") {
        Some(_) => root.section("load"),
        None => root.element(&empty, root.path("load")),
    };
    let load = load.and_then(load::read);
    let common = root.section("request").map(Request::read).unwrap_or_default();
    let classes = classes::read(&root, common);
    root.finish();
    let (stage, timeouts) = load?;
    let classes = classes?;
    let (prompt, all) = (classes.prompt, classes.all);
    if !classes.streaming {
        findings.notice(
            "request.stream",
            "is off, which is its default, so that TTFT, TPOT and ITL cannot be measured; set it to true for them",
        );
    }
    if prompt.varies_by_class() && all.classes.len() > 1 {
        findings.notice("trafficClasses", "have prompts that differ in {traffic_class}. The original sends each class its own prompt; here there is one text of this length per class, and requests take the texts in turn, whatever their class");
    }
    let lengths: BTreeSet<u32> = all.classes.iter().filter_map(|it| it.output).collect();
    let requests = prompts::requests(&prompt, all.classes.len(), &lengths);
    Some(Workload {
        streaming: classes.streaming,
        model,
        classes: all,
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
    if let Some(path) = section.text("path").filter(|it| it.trim_start_matches('/') != usual.trim_start_matches('/')) {
        section.notice("path", format!("is {}, but requests are sent to {usual}", quoted(path)));
    }
    section.finish();
    api
}

#[cfg(test)]
mod tests;
