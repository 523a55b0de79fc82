//! Writes `result.yaml` from our values, in the format (version 0.1) of nop, the harness of llm-d-benchmark that measures starts. Leaves out unknown
//! values, for which the original writes zeros and empty texts.

use crds::server_engine::startup_log::{Figure, StepName};
use serde_json::{Map, Value, json};

use crate::startup::{Process, SleepWakeKind, Startup, Step};

/// A server in `result.yaml`.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// The name of the server. The original writes the names of pod and container here.
    pub name: &'a str,
    pub image: Option<&'a str>,
    /// Seconds from the creation of the server's pod until the server was ready.
    pub pod_start_seconds: Option<f64>,
    pub startup: &'a Startup,
}

/// Returns the document. Its scenario is that of the first server. Its `time` goes from the first start of any server until the last server was
/// ready.
pub fn result(servers: &[Server<'_>]) -> Value {
    let mut result = object([("version", Some(json!("0.1"))), ("scenario", Some(scenario(servers)))]);
    result.insert("vllm_metrics".into(), servers.iter().map(metrics).collect());
    result.insert("extra_metrics".into(), json!([]));
    let unix = |it: jiff::Timestamp| it.as_duration().as_secs_f64();
    let start = servers.iter().filter_map(|it| it.startup.started).min().map(unix);
    let stop = servers.iter().filter_map(|it| it.startup.ready).max().map(unix);
    let duration = start.zip(stop).map(|(start, stop)| json!(stop - start));
    let time = [("start", start.map(Value::from)), ("stop", stop.map(Value::from)), ("duration", duration)];
    result.insert("time".into(), object(time).into());
    result.into()
}

/// An object with the entries that have a value.
fn object<const N: usize>(entries: [(&str, Option<Value>); N]) -> Map<String, Value> {
    entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

fn scenario(servers: &[Server<'_>]) -> Value {
    let first = servers.first().map(|it| it.startup);
    let engine = |it: &Server<'_>| -> Value {
        let args = it.startup.args.clone().map(Value::from);
        let version = it.startup.version.clone().map(Value::from);
        object([
            ("name", Some(it.name.into())),
            ("image", it.image.map(Value::from)),
            ("version", version),
            ("args", args),
        ])
        .into()
    };
    let gpus = first.map(|it| it.gpus.as_slice()).unwrap_or_default();
    let gpus = gpus.iter().map(|it| {
        json!({"uuid": it.uuid, "name": it.name, "compute_cap": it.compute_cap, "persistence_mode": it.persistence_mode})
    });
    object([
        ("load_format", first.and_then(|it| it.load_format.clone()).map(Value::from)),
        ("sleep_mode", first.and_then(|it| it.sleep_mode).map(Value::from)),
        ("model", first.and_then(|it| it.model.clone()).map(|name| json!({"name": name}))),
        ("platform", Some(json!({"engines": servers.iter().map(engine).collect::<Vec<_>>()}))),
        ("gpus", Some(gpus.collect())),
    ])
    .into()
}

fn metrics(server: &Server<'_>) -> Value {
    let startup = server.startup;
    let figure = |it| startup.figures.get(&it).copied().map(Value::from);
    let unix = |it: Option<jiff::Timestamp>| it.map(|it| it.as_duration().as_secs_f64().into());
    let some = |map: Map<String, Value>| (!map.is_empty()).then(|| Value::from(map));
    let load = object([
        ("time", figure(Figure::ModelLoadSeconds)),
        ("size", figure(Figure::ModelSizeGib)),
        ("transfer_rate", startup.transfer_rate().map(Value::from)),
    ]);
    let memory = object([
        ("initial_free", figure(Figure::InitialFreeGib)),
        ("after_free", figure(Figure::FreeAfterProfilingGib)),
        ("time", figure(Figure::MemoryProfilingSeconds)),
        ("available_kv_cache", figure(Figure::KvCacheGib)),
    ]);
    // Only one of the two values is written.
    let cached = figure(Figure::LoadCompiledGraphSeconds);
    let compiled = figure(Figure::CompileGraphSeconds).filter(|_| cached.is_none());
    let sleep_wake = startup.sleep_wake.iter().map(|it| -> Value {
        let is_sleep = it.kind == SleepWakeKind::Sleep;
        object([
            ("timestamp", unix(it.at)),
            ("type", Some(it.kind.name().into())),
            ("time", Some(it.seconds.into())),
            ("gpu_freed", it.freed_gib.filter(|_| is_sleep).map(Value::from)),
            ("gpu_in_use", it.in_use_gib.filter(|_| is_sleep).map(Value::from)),
        ])
        .into()
    });
    let whole = startup.steps.iter().filter(|it| it.name.within().is_none() && it.name != StepName::WarmUp);
    object([
        ("name", Some(server.name.into())),
        ("pod_start", server.pod_start_seconds.map(Value::from)),
        ("vllm_start_timestamp", unix(startup.started)),
        ("vllm_ready_timestamp", unix(startup.ready)),
        ("load", some(load)),
        ("dynamo_bytecode_transform", figure(Figure::DynamoSeconds)),
        ("load_cached_compiled_graph", cached),
        ("compile_graph", compiled),
        ("torch_compile", figure(Figure::TorchCompileSeconds)),
        ("memory_profiling", some(memory)),
        ("sleep_wake", Some(sleep_wake.collect())),
        ("categories", Some(whole.map(|it| category(it, &startup.steps)).collect())),
    ])
    .into()
}

fn category(step: &Step, all: &[Step]) -> Value {
    let parts: Vec<Value> =
        all.iter().filter(|it| it.name.within() == Some(step.name)).map(|it| category(it, all)).collect();
    object([
        ("title", Some(step.name.name().into())),
        ("process", step.process.as_ref().map(process)),
        ("elapsed", Some(step.seconds.into())),
        ("categories", (!parts.is_empty()).then(|| parts.into())),
    ])
    .into()
}

fn process(process: &Process) -> Value {
    json!({"name": process.name, "pid": process.pid.unwrap_or(0)})
}
