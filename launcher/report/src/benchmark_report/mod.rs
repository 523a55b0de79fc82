//! The standard benchmark report of llm-d, one file per stage. `benchmark_report_v0.2.yaml` follows revision 0.2 of the format.
//! `benchmark_report_v0.2.1.json` also contains what only revision 0.2.1 can express.
//!
//! The format rejects unknown keys. Missing values are left out, never null and never zero. The keyword `clock=` names the time from which TTFT and
//! request latency count. Values without a place in the format are in the keywords and below `results.observability`, where custom keys are allowed.
//! All times are in seconds, because some readers ignore the unit and assume seconds, such as older releases of llm-d's viewer Prism.

mod load;
mod observability;
mod performance;
mod revision;
mod sessions;
mod steady_state;
mod time_series;
mod values;

use std::io;

use crds::{
    hex,
    resolve::{Endpoint, repeat_name},
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use analysis::{Figures, Labels, StageAnalysis};
use document::{LabelsDocument, Parts, TOOL_VERSION};

pub use revision::{Revision, file_name};

use values::{STACK_LABEL, at, insert};

/// Returns the text of the report of one stage.
///
/// # Errors
/// There is no such stage.
pub fn render(revision: Revision, report: &Parts<'_>, index: usize) -> io::Result<String> {
    let stage = report.analysis.stages.get(index);
    let stage = stage.ok_or_else(|| io::Error::other(format!("the workload has no stage {index}")))?;
    let document = document(revision, report, stage, index);
    match revision {
        Revision::V02 => serde_saphyr::to_string(&document).map_err(io::Error::other),
        Revision::V021 => Ok(format!("{document}\n")),
    }
}

fn document(revision: Revision, report: &Parts<'_>, stage: &StageAnalysis, index: usize) -> Value {
    let mut scenario = Map::new();
    scenario.insert("stack".into(), json!([target(report)]));
    if let Some(standardized) = load::load(report, stage, index) {
        let native = load::native(report);
        // The id is the same for all stages of a run, because Prism uses it to group reports.
        let metadata = json!({"cfg_id": config_id(&native)});
        scenario.insert("load".into(), json!({"metadata": metadata, "standardized": standardized, "native": native}));
    }
    json!({
        "version": revision.version(),
        "run": run(report, stage),
        "scenario": scenario,
        "results": results(revision, report, stage, index),
    })
}

fn results(revision: Revision, report: &Parts<'_>, stage: &StageAnalysis, index: usize) -> Value {
    let analysis = report.analysis;
    let mut requests = Map::new();
    requests.insert("aggregate".into(), performance::aggregate(&stage.figures));
    let mut results = Map::new();
    if revision == Revision::V021 {
        // In a run of one stage, only the run has the time series.
        let series = stage.series.as_ref().or(analysis.series.as_ref().filter(|_| analysis.stages.len() == 1));
        let series = series.and_then(|it| time_series::requests(it, &stage.figures, analysis.started));
        insert(&mut requests, "time_series", series);
        insert(&mut results, "session_performance", stage.sessions.as_ref().map(sessions::performance));
    }
    results.insert("request_performance".into(), Value::Object(requests));
    insert(&mut results, "observability", observability::observability(revision, report, stage, index));
    Value::Object(results)
}

fn run(report: &Parts<'_>, stage: &StageAnalysis) -> Value {
    let (analysis, identity) = (report.analysis, &report.run.run);
    // The id is derived from the run instead of random, so that the same measurement always gives the same report.
    let run_of_series = identity.repeat_number.map_or_else(String::new, |it| format!("{}/", repeat_name(it)));
    let report_of = format!("{}/{}/{run_of_series}{}", identity.uid, identity.attempt, stage.stage.name);
    let mut run = Map::new();
    run.insert("uid".into(), json!(Uuid::new_v5(&Uuid::NAMESPACE_URL, report_of.as_bytes()).to_string()));
    run.insert("eid".into(), json!(Uuid::new_v5(&Uuid::NAMESPACE_URL, identity.uid.as_bytes()).to_string()));
    if !identity.namespace.is_empty() {
        run.insert("user".into(), json!(format!("namespace={}", identity.namespace)));
    }
    // Prism labels all stages of a run with the description of the first one.
    run.insert("description".into(), json!(format!("{}, profile {}", identity.title(), report.run.profile_source)));
    let mut keywords = vec![format!("stage={}", stage.stage.name)];
    keywords.extend(LabelsDocument::new(&Labels::of_stage(stage)).pairs());
    keywords.extend(steady_state::find(stage).map(|it| format!("steady_state={}", it.verdict.name())));
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

/// Start and end of the stage: the due time of its first request, and the end of its last request.
fn time(zero: Timestamp, figures: &Figures) -> Option<Value> {
    let (start, end) = (at(zero, figures.first_due?)?, at(zero, figures.last_end?)?);
    let duration = format!("PT{}S", figures.duration.as_secs_f64());
    Some(json!({"start": start, "end": end, "duration": duration}))
}

/// What is known about the server: its address, its model, and its engine if the server reports one.
fn target(report: &Parts<'_>) -> Value {
    let identity = report.server.map(|it| &it.before);
    let engine = identity.and_then(|it| it.engine.as_deref());
    let (tool, version) = match report.run.endpoint {
        Endpoint::Url(_) | Endpoint::Server(_) => {
            let version = identity.and_then(|it| it.version.as_deref()).unwrap_or("unknown");
            (engine.unwrap_or("openai-api-server"), version)
        }
        Endpoint::Simulator(_) => ("benchwright-simulator", TOOL_VERSION),
    };
    let mut standardized = json!({
        "kind": "generic",
        "tool": tool,
        "tool_version": version,
        "endpoint": report.run.endpoint.name(),
        "model": {"name": report.analysis.model},
    });
    // The format has a kind `inference_engine`, but it also requires the parallelism, which is unknown.
    if let Some(hardware) = &report.run.hardware {
        standardized["accelerator"] = match &hardware.accelerator {
            Some(model) => json!({"model": model, "count": hardware.accelerators}),
            None => json!({"count": hardware.accelerators}),
        };
    }
    json!({
        "metadata": {"label": STACK_LABEL, "cfg_id": config_id(&standardized)},
        "standardized": standardized,
        "native": {"args": {}, "envars": {}},
    })
}

/// The first 16 hex digits of the JSON's SHA-256. Equal configurations have equal ids.
fn config_id(value: &Value) -> String {
    hex(&Sha256::digest(value.to_string().as_bytes())[..8])
}
