//! The profile format of inference-perf (version 0.6): sections load, data, api, server, report, and some without a meaning
//! here.
//!
//! What the original takes and this engine cannot do yet is refused by name; what concerns only the original (its worker
//! processes, its files) is checked for its type and left alone, with a notice where that changes what a reader may expect.
//! Where the original fails silently (a `data` section in the wrong place, `std` for `std_dev`) this speaks.

mod api;
mod data;
mod lengths;
mod load;
mod trace;
mod values;

use crds::benchmark_run::Api;
use serde_json::Value;

use self::api::ApiSection;
use self::values::{MAX_CONSTRAINT_SECONDS, span};
use super::Target;
use crate::{
    problem::Findings,
    reader::{Section, ValueType},
    workload::{Goodput, PromptReuse, RequestSource, Sampling, Timeouts, Window, Workload},
};

/// The sections of a profile.
const SECTIONS: [&str; 9] =
    ["api", "circuit_breakers", "data", "load", "metrics", "report", "server", "storage", "tokenizer"];

/// Reads a profile. `None` goes with at least one problem in the findings.
pub(super) fn parse(profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let root = Section::root(profile, &SECTIONS, findings)?;
    let call = ApiSection::read(root.section("api"));
    let (model, ignore_eos) = server(root.section("server"), target);
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
    let goodput = report(root.section("report"), &call);
    without_meaning(&root);
    root.finish();
    let load = load?;
    Some(Workload {
        api: call.api,
        streaming: call.streaming,
        model,
        headers: call.headers,
        requests: requests?.requests,
        prompts: PromptReuse::Fresh,
        stages: load.stages,
        window: Window::All,
        loadgen: None,
        abandonment: None,
        probes: None,
        sampling: Sampling { ignore_eos, extra: call.extra, ..Sampling::default() },
        timeouts: Timeouts { request: Some(load.request_timeout), ..Timeouts::default() },
        goodput,
    })
}

/// The original sends mock prompts when there is no `data`, and says nothing; so a wrong indentation measures another load.
fn missing_data(root: &Section, profile: &Value) {
    let nested = profile.as_object().into_iter().flatten().find(|(_, value)| value.get("data").is_some());
    let remedy = match nested {
        Some((section, _)) => format!(
            "there is one at {section}.data, which is too deep: inference-perf would send mock prompts and not say so"
        ),
        None => {
            "write what to send, or data: {type: mock} to ask for the mock prompts that inference-perf sends without it"
                .to_owned()
        }
    };
    root.require("data", &remedy);
}

/// The model and whether to ignore the end of a text.
fn server(section: Option<Section>, target: Target) -> (Option<String>, bool) {
    let Some(section) = section else { return (None, true) };
    const MOCK: &str = "mock";
    let servers = [("vllm", "vllm"), ("sglang", "sglang"), ("tgi", "tgi"), (MOCK, MOCK)];
    if section.choice("type", &servers) == Some(MOCK) {
        section.problem(
            "type",
            "is \"mock\", which calls no server; take it out, and set target.simulator for a run without one",
        );
    }
    let model = section.text("model_name").map(str::trim).filter(|it| !it.is_empty());
    if let (Some(model), Some(asked)) = (model, target.model)
        && model != asked
    {
        section.notice("model_name", format!("is {model}, but the run asks for target.model, {asked}"));
    }
    let url = section.text("base_url").map(|it| it.trim_end_matches('/')).filter(|it| !it.is_empty());
    if let (Some(url), Some(asked)) = (url, target.url)
        && url != asked
    {
        section.notice("base_url", format!("is {url}, but the load goes to the target of the run, {asked}"));
    }
    if section.ignored("api_key", ValueType::Text) {
        section.notice("api_key", "is not sent; put the token into a Secret, and name it in target.auth");
    }
    if section.ignored("cert_path", ValueType::Text) | section.ignored("key_path", ValueType::Text) {
        section.notice("cert_path", "is not used: client certificates are not supported yet");
    }
    let ignore_eos = section.bool("ignore_eos").unwrap_or(true);
    let model = model.map(str::to_owned);
    section.finish();
    (model, ignore_eos)
}

/// Of the reports only goodput concerns the load: which files are written is the run's choice.
fn report(section: Option<Section>, call: &ApiSection) -> Goodput {
    let mut goodput = call.goodput.clone();
    let Some(section) = section else { return goodput };
    if let Some(files) = section.section("request_lifecycle") {
        files.all_ignored(&[
            ("summary", ValueType::Bool),
            ("per_stage", ValueType::Bool),
            ("per_request", ValueType::Bool),
            ("per_adapter", ValueType::Bool),
            ("per_adapter_stage", ValueType::Bool),
            ("use_server_output_tokens", ValueType::Bool),
            ("max_error_messages", ValueType::Number),
        ]);
        if files.ignored("percentiles", ValueType::List) {
            files.notice("percentiles", "is not used: the report has a fixed set of percentiles");
        }
        files.finish();
    }
    for key in ["prometheus", "session_lifecycle"] {
        if let Some(files) = section.section(key) {
            files.all_ignored(&[
                ("summary", ValueType::Bool),
                ("per_stage", ValueType::Bool),
                ("per_session", ValueType::Bool),
            ]);
            files.finish();
        }
    }
    if let Some(section) = section.section("goodput") {
        if let Some(constraints) = section.section("constraints") {
            bound(&mut goodput, constraints, call.streaming);
        }
        section.finish();
    }
    section.finish();
    goodput
}

/// Reads the bounds that a request must meet to count as good.
fn bound(goodput: &mut Goodput, constraints: Section, streaming: bool) {
    let Goodput { ttft, tpot, itl, ntpot, request_latency } = goodput;
    for (key, bound, needs_streaming) in [
        ("ttft", ttft, true),
        ("tpot", tpot, true),
        ("itl", itl, true),
        ("ntpot", ntpot, false),
        ("request_latency", request_latency, false),
    ] {
        let seconds = constraints.positive_number(key, MAX_CONSTRAINT_SECONDS);
        *bound = seconds.and_then(span).or(*bound);
        if seconds.is_some() && needs_streaming && !streaming {
            constraints.notice(key, "can be met by no request, because api.streaming is off and so it is not measured");
        }
    }
    constraints.finish();
}

/// Sections about the original's own work: checked for their form only.
fn without_meaning(root: &Section) {
    if let Some(section) = root.section("tokenizer") {
        section.all_ignored(&[("trust_remote_code", ValueType::Bool), ("token", ValueType::Text)]);
        if section.ignored("pretrained_model_name_or_path", ValueType::Text) {
            section.notice(
                "pretrained_model_name_or_path",
                "is not loaded: prompts are made of words to about the asked length, and reports show the server's own counts",
            );
        }
        section.finish();
    }
    if let Some(section) = root.section("metrics") {
        section.choice("type", &[("prometheus", ()), ("default", ())]);
        if let Some(prometheus) = section.section("prometheus") {
            prometheus.all_ignored(&[
                ("scrape_interval", ValueType::Number),
                ("url", ValueType::Text),
                ("google_managed", ValueType::Bool),
                ("filters", ValueType::List),
            ]);
            prometheus.finish();
            section.notice("prometheus", "is not asked: no Prometheus server is read");
        }
        section.finish();
    }
    if let Some(section) = root.section("storage") {
        storage(section);
    }
    if root.list("circuit_breakers").is_some_and(|it| !it.is_empty()) {
        root.notice("circuit_breakers", "is not used: no breaker ends a stage early");
    }
}

fn storage(section: Section) {
    const CLOUDS: [&str; 2] = ["google_cloud_storage", "simple_storage_service"];
    if let Some(local) = section.section("local_storage") {
        local.all_ignored(&[("path", ValueType::Text), ("report_file_prefix", ValueType::Text)]);
        local.finish();
    }
    for key in CLOUDS {
        if section.ignored(key, ValueType::Mapping) {
            section.notice(key, "is not used: results stay in the storage of the run, nothing is uploaded");
        }
    }
    section.finish();
}

#[cfg(test)]
mod tests;
