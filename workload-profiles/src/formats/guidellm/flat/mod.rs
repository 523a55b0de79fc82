//! The flat form of GuideLLM up to version 0.6, as a file or as options. It is converted to the nested form.

mod data;
mod defaults;
mod nested;
mod options;
mod origin;

use serde_json::{Map, Value, json};

pub(super) use self::{
    defaults::{SETTING, key_of_setting},
    options::from_options,
};
use super::{paths::typed, scenario::Scenario};
use crate::{
    problem::{Findings, named, suggestion},
    reader::described,
};
use nested::{Nested, is_empty};

pub(super) use origin::Origin;

/// Every key, with its other names in GuideLLM.
const KEYS: [(&str, &[&str]); 32] = [
    ("target", &[]),
    ("backend", &["backend_type"]),
    ("backend_kwargs", &["backend_args"]),
    ("model", &[]),
    ("processor", &[]),
    ("processor_args", &[]),
    ("data", &[]),
    ("data_args", &[]),
    ("data_samples", &[]),
    ("data_column_mapper", &[]),
    ("data_request_formatter", &["request_type"]),
    ("request_formatter_kwargs", &[]),
    ("data_sampler", &[]),
    ("data_collator", &[]),
    ("data_num_workers", &[]),
    ("dataloader_kwargs", &[]),
    ("profile", &["rate_type"]),
    ("rate", &[]),
    // In GuideLLM this setting is an environment variable, so a file cannot contain it.
    ("max_concurrency", &[]),
    ("random_seed", &[]),
    ("outputs", &["output_formats"]),
    ("output_dir", &["output_path"]),
    ("sample_requests", &["output_sampling"]),
    ("prefer_response_metrics", &[]),
    ("warmup", &["warmup_percent"]),
    ("cooldown", &["cooldown_percent"]),
    ("rampup", &[]),
    ("max_seconds", &[]),
    ("max_requests", &[]),
    ("max_errors", &[]),
    ("max_error_rate", &[]),
    ("max_global_error_rate", &[]),
];
const OVER_SATURATION: (&str, &[&str]) = ("over_saturation", &["detect_saturation", "default_over_saturation"]);
/// Default timeout for a connection and for reads, in seconds.
const DEFAULT_TIMEOUT: f64 = 60.0;

fn keys() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    KEYS.into_iter().chain([OVER_SATURATION])
}

/// Returns the canonical name of a key. `name` is any of its names.
fn canonical(name: &str) -> Option<&'static str> {
    keys().find(|(key, others)| *key == name || others.contains(&name)).map(|(key, _)| key)
}

/// Reads the flat form.
pub(super) fn read(profile: &Value, origin: Origin, findings: &Findings) -> Option<Scenario> {
    let mut flat: Map<String, Value> = Map::new();
    // The key that the author wrote for each canonical key.
    let mut written: Map<String, Value> = Map::new();
    for (name, value) in profile.as_object()? {
        let Some(key) = canonical(&name.replace('-', "_")) else {
            if origin == Origin::File {
                let known = keys().map(|it| it.0);
                findings.notice(
                    named(name),
                    format!("is no key of a scenario, and GuideLLM up to 0.6 ignores it; {}", suggestion(name, known)),
                );
            }
            continue;
        };
        if value.is_null() {
            continue;
        }
        if let Some(first) = written.get(key) {
            let first = first.as_str().unwrap_or(key);
            findings.problem(named(name), format!("means the same as {first}; keep one of them"));
            return None;
        }
        flat.insert(key.to_owned(), value.clone());
        written.insert(key.to_owned(), Value::String(name.clone()));
    }
    if flat.is_empty() {
        let remedy = "write spec with backend, profile, data and constraints, or the older target, profile and data";
        findings.problem("profile", format!("has no key of a scenario of GuideLLM; {remedy}"));
        return None;
    }
    if origin == Origin::File {
        findings
            .notice("profile", "has the format of GuideLLM up to 0.6, and is read with the meaning of those versions");
    }
    let mut nested = Nested { spec: json!({}), names: Vec::new(), origin, findings };
    let name = |key: &str| written.get(key).and_then(Value::as_str).unwrap_or(key).to_owned();
    backend(&mut nested, &flat, &written, &name);
    profile_of(&mut nested, &flat, &name)?;
    constraints(&mut nested, &flat, &name);
    data::data(&mut nested, &flat, &name)?;
    if flat.get("processor_args").is_some_and(|it| !is_empty(it)) {
        nested.notice(&name("processor_args"), "is not used: prompts are made with the file that processor names");
    }
    Some(Scenario { value: json!({"spec": nested.spec}), names: nested.names, is_flat: true })
}

fn backend(
    nested: &mut Nested,
    flat: &Map<String, Value>,
    written: &Map<String, Value>,
    name: &impl Fn(&str) -> String,
) {
    let mut set = |path: &str, key: &str| {
        if let Some(value) = flat.get(key) {
            nested.set(path, &name(key), value.clone());
        }
    };
    set("backend.kind", "backend");
    set("backend.target", "target");
    set("backend.model", "model");
    set("tokenizer.model", "processor");
    set("seed.value", "random_seed");
    set("metrics.sample_size", "sample_requests");
    set("metrics.prefer_response_metrics", "prefer_response_metrics");
    nested.set("backend.timeout", "timeout", DEFAULT_TIMEOUT.into());
    nested.set("backend.timeout_connect", "timeout", DEFAULT_TIMEOUT.into());
    for key in ["backend_kwargs", "request_formatter_kwargs"] {
        arguments(nested, flat, key, &name(key));
    }
    match flat.get("data_request_formatter") {
        Some(Value::Object(_)) => arguments(nested, flat, "data_request_formatter", &name("data_request_formatter")),
        Some(value) => nested.set("backend.request_format", &name("data_request_formatter"), value.clone()),
        None => {}
    }
    let is_written = nested.names.iter().any(|(path, _)| path == "spec.backend.request_format");
    if !is_written {
        defaults::note_api(nested, written, name);
    }
}

/// Reads arguments of the backend and of requests. In the nested form they are keys of the backend.
fn arguments(nested: &mut Nested, flat: &Map<String, Value>, key: &str, shown: &str) {
    let Some(value) = flat.get(key) else { return };
    let Some(entries) = value.as_object() else {
        nested.problem(shown, format!("is {}; write a mapping", described(value)));
        return;
    };
    for (argument, value) in entries {
        let path = match argument.replace('-', "_").as_str() {
            "request_type" | "type" | "type_" => "backend.request_format".to_owned(),
            "extra_body" => "backend.extras.body".to_owned(),
            "extra_query" => "backend.extras.params".to_owned(),
            "headers" => "backend.extras.headers".to_owned(),
            "max_output_tokens" => "backend.max_tokens".to_owned(),
            other => format!("backend.{other}"),
        };
        let timeout = (argument == "timeout").then(|| ("backend.timeout_connect", value.clone()));
        nested.set(&path, &format!("{shown}.{}", named(argument)), value.clone());
        if let Some((path, value)) = timeout {
            nested.set(path, &format!("{shown}.timeout"), value);
        }
    }
}

/// Reads the profile. Its kind decides the meaning of `rate`.
fn profile_of(nested: &mut Nested, flat: &Map<String, Value>, name: &impl Fn(&str) -> String) -> Option<()> {
    let kind = flat.get("profile").cloned().unwrap_or_else(|| json!("sweep"));
    let rates: Vec<Value> = match flat.get("rate") {
        None => Vec::new(),
        Some(Value::Array(rates)) => rates.clone(),
        Some(Value::String(text)) => {
            let rates: Result<Vec<Value>, String> = text.split(',').map(|it| typed(it.trim())).collect();
            rates.unwrap_or_else(|_| vec![Value::String(text.clone())])
        }
        Some(rate) => vec![rate.clone()],
    };
    let rate = name("rate");
    let first = rates.first().cloned();
    if let (Some(kind @ ("throughput" | "sweep" | "replay")), true) = (kind.as_str(), rates.len() > 1) {
        nested.notice(&rate, format!("holds {} values, of which {kind} takes only the first", rates.len()));
    }
    match kind.as_str() {
        Some("synchronous") if first.is_some() => {
            nested.problem(&rate, "is written, but the profile is synchronous, which has no rate; take it out");
            return None;
        }
        // `rate` is the concurrency of a closed loop.
        Some("concurrent") if first.is_some() => nested.set("profile.streams", &rate, Value::Array(rates)),
        // `rate` is the concurrency limit.
        Some("throughput") => {
            if let Some(first) = &first {
                nested.set("profile.max_concurrency", &rate, first.clone());
            }
        }
        // `rate` is the number of strategies.
        Some("sweep") => {
            if let Some(first) = &first {
                nested.set("profile.sweep_size", &rate, first.clone());
            }
        }
        Some("replay") => {
            if let Some(first) = &first {
                nested.set("profile.time_scale", &rate, first.clone());
            }
        }
        // `rate` is in requests per second.
        _ if first.is_some() => nested.set("profile.rate", &rate, Value::Array(rates)),
        _ => {}
    }
    let from_rate = kind == "throughput" && first.is_some();
    defaults::max_concurrency(nested, flat, kind.as_str().unwrap_or_default(), from_rate, name);
    if let Some(Value::Object(_)) = flat.get("profile") {
        nested.problem(&name("profile"), "is a mapping; write the name of a profile, such as constant");
        return None;
    }
    nested.set("profile.kind", &name("profile"), kind);
    for (path, key) in
        [("profile.rampup_duration", "rampup"), ("profile.warmup", "warmup"), ("profile.cooldown", "cooldown")]
    {
        if let Some(value) = flat.get(key) {
            nested.set(path, &name(key), value.clone());
        }
    }
    nested.names.push(("spec.profile.rate".to_owned(), nested.shown(&rate)));
    nested.names.push(("spec.profile.streams".to_owned(), nested.shown(&rate)));
    nested.names.push(("spec.profile".to_owned(), nested.shown(&name("profile"))));
    Some(())
}

fn constraints(nested: &mut Nested, flat: &Map<String, Value>, name: &impl Fn(&str) -> String) {
    let mut index = 0;
    for (kind, key, value) in [
        ("max_duration", "max_seconds", "seconds"),
        ("max_requests", "max_requests", "count"),
        ("max_errors", "max_errors", "count"),
        ("max_error_rate", "max_error_rate", "rate"),
        ("max_global_error_rate", "max_global_error_rate", "rate"),
    ] {
        let Some(found) = flat.get(key) else { continue };
        nested.set(&format!("constraints[{index}].{value}"), &name(key), found.clone());
        nested.set(&format!("constraints[{index}]"), &name(key), json!({"kind": kind, value: found}));
        index += 1;
    }
    let Some(value) = flat.get("over_saturation") else { return };
    let enabled = match value {
        Value::Bool(enabled) => *enabled,
        Value::Object(settings) => settings.get("enabled").is_none_or(|it| *it != Value::Bool(false)),
        _ => true,
    };
    if enabled {
        let constraint = json!({"kind": "over_saturation"});
        nested.set(&format!("constraints[{index}]"), &name("over_saturation"), constraint);
    }
    nested.names.push(("spec.constraints".to_owned(), nested.shown("max_seconds")));
}
