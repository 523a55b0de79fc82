//! `benchmark_report_v0.2.yaml`: the standard benchmark report of llm-d, one load point (stage) a file.
//!
//! Unknown keys are errors in this format and absent values are left out, never null and never zero. TTFT and request latency
//! count from the clock that the keyword `clock=` names; what the format has no place for stands in the keywords.

use std::{io, time::Duration};

use crds::{hex, resolve::Endpoint};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;
use workload_profiles::workload::{LengthDistribution, OutputLength, PromptText, RequestSource, Shape};

use super::{Report, TOOL, TOOL_VERSION, redact::profile_value};
use analysis::{Analysis, Distribution, Figures, Labels, StageAnalysis, TokenCount};

const STACK_LABEL: &str = "target";

/// The file of a stage: without the stage's name where there is only one. Two names never have one file: a letter that has
/// no place in a file's name stands there as `%` and the hexadecimal digits of its bytes.
pub fn file_name(analysis: &Analysis, index: usize) -> String {
    let stage = analysis.stages.get(index).filter(|_| analysis.stages.len() > 1);
    let Some(stage) = stage else { return "benchmark_report_v0.2.yaml".into() };
    let mut name = String::new();
    for byte in stage.stage.name.bytes() {
        match char::from(byte) {
            it if it.is_ascii_alphanumeric() || "._-".contains(it) => name.push(it),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    format!("benchmark_report_v0.2-{name}.yaml")
}

/// The text of the report of one stage.
///
/// # Errors
/// There is no such stage.
pub fn render(report: &Report<'_>, index: usize) -> io::Result<String> {
    let stage = report.analysis.stages.get(index);
    let stage = stage.ok_or_else(|| io::Error::other(format!("the workload has no stage {index}")))?;
    serde_saphyr::to_string(&document(report, stage, index)).map_err(io::Error::other)
}

fn document(report: &Report<'_>, stage: &StageAnalysis, index: usize) -> Value {
    let mut scenario = Map::new();
    scenario.insert("stack".into(), json!([target(report)]));
    if let Some(standardized) = load(report, stage, index) {
        let native = native(report);
        let metadata = json!({"cfg_id": config_id(&native)});
        scenario.insert("load".into(), json!({"metadata": metadata, "standardized": standardized, "native": native}));
    }
    json!({
        "version": "0.2",
        "run": run(report, stage),
        "scenario": scenario,
        "results": {"request_performance": {"aggregate": aggregate(&stage.figures)}},
    })
}

fn run(report: &Report<'_>, stage: &StageAnalysis) -> Value {
    let (analysis, identity) = (report.analysis, &report.run.run);
    // Derived and not drawn, so that the same measurement always has the same report.
    let report_of = format!("{}/{}/{}", identity.uid, identity.attempt, stage.stage.name);
    let mut run = Map::new();
    run.insert("uid".into(), json!(Uuid::new_v5(&Uuid::NAMESPACE_URL, report_of.as_bytes()).to_string()));
    run.insert("eid".into(), json!(Uuid::new_v5(&Uuid::NAMESPACE_URL, identity.uid.as_bytes()).to_string()));
    if !identity.namespace.is_empty() {
        run.insert("user".into(), json!(format!("namespace={}", identity.namespace)));
    }
    let description = format!("{}, profile {}, stage {}", identity.name, report.run.profile_source, stage.stage.name);
    run.insert("description".into(), json!(description));
    let mut keywords = Labels::of_stage(stage).pairs();
    keywords.push(format!("outcome={}", analysis.verdict.outcome.name()));
    keywords.extend(analysis.verdict.reasons.iter().map(|it| format!("reason={}", it.name)));
    keywords.extend(analysis.partial.then(|| "partial".to_owned()));
    keywords.push(format!("commit={}", report.commit));
    keywords.push(format!("profile_sha256={}", report.profile_sha256()));
    keywords.extend(report.files.iter().filter_map(|it| it.sha256.as_ref()).map(|it| format!("file_sha256={it}")));
    run.insert("keywords".into(), json!(keywords));
    if let Some(time) = time(analysis.started, &stage.figures) {
        run.insert("time".into(), time);
    }
    Value::Object(run)
}

/// Start and end of the stage: its first request was due, its last one had ended.
fn time(zero: Timestamp, figures: &Figures) -> Option<Value> {
    let at = |offset: Duration| zero.checked_add(SignedDuration::try_from(offset).ok()?).ok();
    let (start, end) = (at(figures.first_due?)?, at(figures.last_end?)?);
    let duration = format!("PT{}S", figures.duration.as_secs_f64());
    Some(json!({"start": start.to_string(), "end": end.to_string(), "duration": duration}))
}

/// What is known of the server: where it is, which model it serves, and its engine where it tells that.
fn target(report: &Report<'_>) -> Value {
    let identity = report.server.map(|it| &it.before);
    let engine = identity.and_then(|it| it.engine.as_deref());
    let (tool, version) = match report.run.endpoint {
        Endpoint::Url(_) => {
            let version = identity.and_then(|it| it.version.as_deref()).unwrap_or("unknown");
            (engine.unwrap_or("openai-api-server"), version)
        }
        Endpoint::Simulator(_) => ("benchwright-simulator", TOOL_VERSION),
    };
    let standardized = json!({
        "kind": "generic",
        "tool": tool,
        "tool_version": version,
        "endpoint": report.run.endpoint.name(),
        "model": {"name": report.analysis.model},
    });
    json!({
        "metadata": {"label": STACK_LABEL, "cfg_id": config_id(&standardized)},
        "standardized": standardized,
        "native": {"args": {}, "envars": {}},
    })
}

/// `None` where the format demands a prompt length and nobody knows one.
fn load(report: &Report<'_>, stage: &StageAnalysis, index: usize) -> Option<Value> {
    let mut load = Map::new();
    load.insert("tool".into(), json!(TOOL));
    load.insert("tool_version".into(), json!(TOOL_VERSION));
    load.insert("parallelism".into(), json!(1));
    load.insert("stage".into(), json!(index));
    let fixed;
    let (source, input, output) = match &report.workload.requests {
        RequestSource::Mock => ("unknown", seen(stage)?, None),
        RequestSource::DataSet(set) => {
            let output = match set.output {
                OutputLength::Fixed(output) => {
                    fixed = LengthDistribution::fixed(output);
                    Some(&fixed)
                }
                _ => None,
            };
            ("sampled", seen(stage)?, output)
        }
        RequestSource::Conversations(conversations) => ("random", seen(stage)?, Some(&conversations.turn.output)),
        RequestSource::TraceBlocks { .. } | RequestSource::Recorded(_) => ("sampled", seen(stage)?, None),
        RequestSource::Random { input, output, text, .. } => {
            let source = match text {
                PromptText::Words | PromptText::TokenIds(_) => "random",
                PromptText::Prose => "sampled",
            };
            (source, length(input), Some(output))
        }
        RequestSource::SharedPrefix {
            groups, prompts_per_group, system_prompt_len, question_len, output_len, ..
        } => {
            let prefix = json!({
                "prefix_len": length(system_prompt_len),
                "num_groups": groups,
                "num_users_per_group": prompts_per_group,
                "num_prefixes": 1,
            });
            load.insert("prefix".into(), prefix);
            ("random", sum(system_prompt_len, question_len), Some(output_len))
        }
    };
    load.insert("source".into(), json!(source));
    load.insert("input_seq_len".into(), input);
    // Without ignore_eos the asked length is a limit, and the model decides.
    if let Some(output) = output.filter(|_| report.workload.sampling.ignore_eos) {
        load.insert("output_seq_len".into(), length(output));
    }
    if let Some(rate) = stage.asked_rate {
        load.insert("rate_qps".into(), json!(rate));
    }
    if let Some(concurrency) = stage.stage.load.max_concurrency() {
        load.insert("concurrency".into(), json!(concurrency));
    }
    Some(Value::Object(load))
}

/// The prompt lengths that the server counted.
fn seen(stage: &StageAnalysis) -> Option<Value> {
    let isl = stage.figures.isl?;
    Some(json!({"distribution": "other", "value": isl.mean, "min": isl.min as u64, "max": isl.max as u64}))
}

fn length(of: &LengthDistribution) -> Value {
    let mut length = Map::new();
    let (name, spread) = match of.shape {
        Shape::Fixed => return json!({"distribution": "fixed", "value": of.mean}),
        Shape::Normal => ("gaussian", Some(of.std_dev)),
        Shape::Uniform => ("uniform", None),
        Shape::Lognormal | Shape::SkewNormal { .. } | Shape::Poisson => ("other", Some(of.std_dev)),
    };
    let value = if of.shape == Shape::Uniform { f64::midpoint(f64::from(of.min), f64::from(of.max)) } else { of.mean };
    length.insert("distribution".into(), json!(name));
    length.insert("value".into(), json!(value));
    if let Some(std_dev) = spread {
        length.insert("std_dev".into(), json!(std_dev));
    }
    length.insert("min".into(), json!(of.min));
    // The format wants at least 1.
    length.insert("max".into(), json!(of.max.max(1)));
    Value::Object(length)
}

/// The length of a prefix and a question together.
fn sum(prefix: &LengthDistribution, question: &LengthDistribution) -> Value {
    let value = prefix.mean + question.mean;
    if prefix.shape == Shape::Fixed && question.shape == Shape::Fixed {
        return json!({"distribution": "fixed", "value": value});
    }
    let (min, max) = (u64::from(prefix.min) + u64::from(question.min), u64::from(prefix.max) + u64::from(question.max));
    json!({"distribution": "other", "value": value, "min": min, "max": max.max(1)})
}

/// The profile as rendered, the run's own settings, and every key that was ignored or changed.
fn native(report: &Report<'_>) -> Value {
    let run = report.run;
    let notices: Vec<String> = report.notices.iter().map(|it| format!("{}: {}", it.path, it.message)).collect();
    let mut native = Map::new();
    let args = json!({
        "harness": run.harness.name(),
        "profile": run.profile_source,
        "seed": run.seed,
        "ignored_or_changed": notices,
    });
    native.insert("args".into(), args);
    insert(&mut native, "config", profile_value(report.profile_text));
    Value::Object(native)
}

fn aggregate(figures: &Figures) -> Value {
    // A sum of the server's counts and ours is neither's.
    let counted = figures.token_count != Some(TokenCount::Mixed);
    let mut requests = Map::new();
    requests.insert("total".into(), json!(figures.requests));
    requests.insert("failures".into(), json!(figures.failed));
    requests.insert("incomplete".into(), json!(figures.cancelled + figures.abandoned + figures.incomplete));
    insert(&mut requests, "input_length", figures.isl.map(|it| statistics("count", &it)));
    insert(&mut requests, "output_length", figures.osl.filter(|_| counted).map(|it| statistics("count", &it)));

    let mut latency = Map::new();
    let time = |units, it: Option<Distribution<Duration>>| it.map(|it| statistics(units, &it.map(seconds)));
    insert(&mut latency, "time_to_first_token", time("s", figures.ttft));
    let ntpot = figures.ntpot.filter(|_| counted);
    insert(&mut latency, "normalized_time_per_output_token", time("s/token", ntpot));
    insert(&mut latency, "time_per_output_token", time("s/token", figures.tpot.filter(|_| counted)));
    // Of events with several tokens only the mean time between two tokens is known, and TPOT has it.
    let itl = figures.itl.filter(|_| figures.has_several_tokens_an_event() != Some(true));
    insert(&mut latency, "inter_token_latency", time("s/token", itl));
    insert(&mut latency, "request_latency", time("s", figures.latency));

    let mut throughput = Map::new();
    let rate = |units, rate: Option<f64>| rate.map(|rate| json!({"units": units, "mean": rate}));
    let rates = figures.throughput;
    insert(&mut throughput, "input_token_rate", rate("tokens/s", rates.and_then(|it| it.input_tokens)));
    let tokens = rates.filter(|_| counted);
    insert(&mut throughput, "output_token_rate", rate("tokens/s", tokens.map(|it| it.output_tokens)));
    insert(&mut throughput, "total_token_rate", rate("tokens/s", tokens.and_then(|it| it.total_tokens)));
    insert(&mut throughput, "request_rate", rate("queries/s", rates.map(|it| it.requests)));

    let mut aggregate = Map::new();
    aggregate.insert("requests".into(), Value::Object(requests));
    insert(&mut aggregate, "latency", Some(latency).filter(|it| !it.is_empty()).map(Value::Object));
    insert(&mut aggregate, "throughput", Some(throughput).filter(|it| !it.is_empty()).map(Value::Object));
    Value::Object(aggregate)
}

fn insert(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        map.insert(key.into(), value);
    }
}

fn statistics(units: &str, of: &Distribution<f64>) -> Value {
    let figures = of.entries().into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
    Value::Object([("units".to_owned(), json!(units))].into_iter().chain(figures).collect())
}

/// From whole nanoseconds, so that 81.234567 ms is written as 0.081234567.
fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// SHA-256 of the JSON, its first 16 hex digits: equal configurations have equal ids.
fn config_id(value: &Value) -> String {
    hex(&Sha256::digest(value.to_string().as_bytes())[..8])
}
