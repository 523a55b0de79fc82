//! The API, the model and the tokenizer.

use crds::benchmark_run::Api;

use crate::{
    formats::{
        common::{
            flags::word,
            headers::headers,
            target::{note_model, note_url},
            tokenizer::name,
        },
        target::Target,
    },
    problem::quoted,
    reader::Section,
    workload::{Assignment, Extra, TrafficClass, TrafficClasses, Workload},
};

/// Maximum number of LoRA adapters.
const MAX_ADAPTERS: usize = 1_000;

/// Supported backends, and the API and the path that each calls.
const BACKENDS: [(&str, Api); 7] = [
    ("openai", Api::Completions),
    ("vllm", Api::Completions),
    ("openai-chat", Api::Chat),
    ("openai-responses", Api::Responses),
    ("sglang", Api::Completions),
    ("lmdeploy", Api::Completions),
    ("scalellm", Api::Completions),
];

/// Parts of the names of unsupported backends, with the reason.
const OTHERS: [(&str, &str); 7] = [
    ("embeddings", "asks for embeddings, which have no tokens to measure"),
    ("pooling", "asks for a pooled output, which has no tokens to measure"),
    ("rerank", "ranks texts, which generates no tokens to measure"),
    ("audio", "sends recorded speech, which this engine does not"),
    ("tgi", "calls the API of TGI; call its /v1/chat/completions with openai-chat"),
    ("tensorrt-llm", "calls the API of Triton; call the OpenAI API of TensorRT-LLM with openai or openai-chat"),
    ("deepspeed-mii", "calls the API of DeepSpeed-MII, which does not stream"),
];

/// Reads the API that the profile calls. Returns `None` if a problem was reported.
pub(super) fn api(root: &Section) -> Option<Api> {
    let Some(backend) = word(root, "backend") else { return Some(Api::Completions) };
    if let Some((_, api)) = BACKENDS.iter().find(|(name, _)| *name == backend) {
        return Some(*api);
    }
    if let Some((_, why)) = OTHERS.iter().find(|(part, _)| backend.contains(part)) {
        root.problem(
            "backend",
            format!("is {backend}, which {why}; choose one of openai, openai-chat and openai-responses"),
        );
    } else {
        let names: Vec<(&str, ())> = BACKENDS.iter().map(|(name, _)| (*name, ())).collect();
        root.choice("backend", &names);
    }
    None
}

/// Reads the server's address, and compares it with the target of the run.
pub(super) fn address(root: &Section, api: Api, target: Target) {
    let (host, port) = (word(root, "host"), root.count("port", 1..=65_535));
    match word(root, "base-url") {
        Some(url) => note_url(root, "base-url", &url, target),
        None if host.is_some() || port.is_some() => {
            let url = format!("http://{}:{}", host.as_deref().unwrap_or("127.0.0.1"), port.unwrap_or(8000));
            note_url(root, if host.is_some() { "host" } else { "port" }, &url, target);
        }
        None => {}
    }
    let path = path(api);
    let completions = "/v1/completions";
    match word(root, "endpoint").as_deref() {
        Some(found) if found == path => {}
        // This is the tool's default path, but the tool itself refuses it for this backend.
        None | Some("/v1/completions") if path != completions => {
            let message =
                format!("is {completions}, with which vllm bench serve refuses this backend; requests go to {path}");
            root.notice("endpoint", message);
        }
        Some(found) => {
            let remedy = "put the part before it into target.url of the run, and take endpoint out";
            root.problem(
                "endpoint",
                format!("is {}, and requests of this backend go to {path}; {remedy}", quoted(found)),
            );
        }
        None => {}
    }
}

fn path(api: Api) -> &'static str {
    match api {
        Api::Completions => "/v1/completions",
        Api::Chat => "/v1/chat/completions",
        Api::Responses => "/v1/responses",
        Api::Messages => "/v1/messages",
    }
}

/// Fills in the model, the header fields and the adapters.
pub(super) fn fill(root: &Section, target: Target, workload: &mut Workload) {
    let (model, served) = (name(root, "model"), name(root, "served-model-name"));
    let key = if served.is_some() { "served-model-name" } else { "model" };
    if let Some(model) = served.or(model) {
        note_model(root, key, &model, target);
        workload.model = Some(model);
    }
    workload.headers = root.section("header").as_ref().map(headers).unwrap_or_default();
    workload.classes = adapters(root);
}

/// Reads the LoRA adapters. Each request names one of them as its model.
fn adapters(root: &Section) -> TrafficClasses {
    let assignments = [("random", Assignment::Random), ("round-robin", Assignment::RoundRobin)];
    let assignment = root.choice("lora-assignment", &assignments).unwrap_or_default();
    let Some(names) = root.list("lora-modules") else { return TrafficClasses::default() };
    if names.len() > MAX_ADAPTERS {
        root.problem("lora-modules", format!("holds {} names; write at most {MAX_ADAPTERS}", names.len()));
        return TrafficClasses::default();
    }
    let mut classes: Vec<TrafficClass> = Vec::with_capacity(names.len());
    for name in names.iter().filter_map(|(_, name)| name.as_str()) {
        if classes.iter().any(|it| it.name == name) {
            root.problem("lora-modules", format!("holds {} twice; keep one", quoted(name)));
        }
        let (headers, extra) = (std::collections::BTreeMap::new(), Extra::default());
        classes.push(TrafficClass {
            name: name.to_owned(),
            weight: 1.0,
            model: Some(name.to_owned()),
            headers,
            output: None,
            extra,
        });
    }
    TrafficClasses { assignment, classes }
}
