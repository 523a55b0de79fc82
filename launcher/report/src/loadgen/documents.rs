//! `config.json` and `summary.json` of a run with LoadGen tests. The same types are used for writing and reading.

use analysis::loadgen::{
    judged::LoadGenTests,
    verdict::{CorrectedFigures, TestVerdict, TrialVerdict},
};
use crds::{accuracy::AccuracyVerdict, outcome::Outcome};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use workload_profiles::{
    loadgen::{Effective, Mode, Scenario, canonical_benchmark},
    workload::{LoadGen, RequestSource, Sampling, Timeouts},
};

use document::{Parts, TOOL_VERSION, redact::redact};

/// The name of the stage for a performance phase.
const PERFORMANCE: &str = "performance";

/// `config.json`: the inputs of the tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadGenConfig {
    /// Name and release of the program that wrote the file.
    pub tool: String,
    pub target: String,
    pub model: String,
    pub loadgen: LoadGen,
    /// The effective settings of each test.
    pub effective: Vec<Effective>,
    pub requests: RequestSource,
    pub sampling: Sampling,
    pub timeouts: Timeouts,
}

impl LoadGenConfig {
    pub(super) fn new(report: &Parts<'_>, loadgen: &LoadGen, tests: &LoadGenTests) -> LoadGenConfig {
        LoadGenConfig {
            tool: tool(),
            target: report.run.endpoint.name().to_owned(),
            model: report.analysis.model.clone(),
            loadgen: LoadGen { tests: tests.as_requested(), ..loadgen.clone() },
            effective: tests.tests.iter().map(|(test, _)| test.log.effective.clone()).collect(),
            requests: report.workload.requests.clone(),
            sampling: report.workload.sampling.clone(),
            timeouts: report.workload.timeouts,
        }
    }

    /// The configuration as JSON without secrets. Credentials in the fields of the sampling or the requests are blacked out.
    pub(super) fn without_secrets(&self) -> serde_json::Result<Value> {
        let mut config = serde_json::to_value(self)?;
        redact(&mut config);
        Ok(config)
    }
}

/// `summary.json`: the results of the tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadGenSummary {
    /// Name and release of the program that wrote the file.
    pub tool: String,
    pub target: String,
    pub model: String,
    pub benchmark: String,
    pub round: String,
    pub started: Timestamp,
    pub outcome: Outcome,
    /// The reasons for the outcome, as sentences.
    pub reasons: Vec<String>,
    /// The trials that were run before the tests.
    pub trials: Vec<TrialVerdict>,
    pub tests: Vec<TestVerdict>,
    /// The results once more, under the keys of the runner for Llama 3.1 8B: `meta`, `system`, `run`, `logs`, `plots`. Unknown values are null.
    #[serde(flatten)]
    pub runner: Map<String, Value>,
}

impl LoadGenSummary {
    pub(super) fn new(report: &Parts<'_>, loadgen: &LoadGen, tests: &LoadGenTests) -> LoadGenSummary {
        let analysis = report.analysis;
        LoadGenSummary {
            tool: tool(),
            target: report.run.endpoint.name().to_owned(),
            model: analysis.model.clone(),
            benchmark: loadgen.benchmark.clone(),
            round: loadgen.round.clone(),
            started: analysis.started,
            outcome: analysis.verdict.outcome,
            reasons: analysis.verdict.reasons.iter().map(ToString::to_string).collect(),
            trials: tests.trials.clone(),
            tests: tests.verdicts().cloned().collect(),
            runner: runner_keys(report, loadgen, tests),
        }
    }
}

/// The keys of the runner's `summary.json`. Accuracy figures use the runner's scale from 0 to 1.
fn runner_keys(report: &Parts<'_>, loadgen: &LoadGen, tests: &LoadGenTests) -> Map<String, Value> {
    let of_mode = |mode| tests.verdicts().find(|it| it.mode == mode && !it.audited);
    let performance = of_mode(Mode::PerformanceOnly);
    let scenario = tests.verdicts().next().map(|it| it.scenario.name().to_lowercase());
    // LoadGen logs no rate in SingleStream, and the key of its token rate depends on the scenario.
    let logged = |it: &TestVerdict, keys: [&str; 2]| keys.iter().find_map(|key| it.figures.get(*key).cloned());
    let corrected = |it: &TestVerdict, of: fn(&CorrectedFigures) -> Option<f64>| {
        it.corrected.as_ref().and_then(of).map(Value::from)
    };
    let stage = report.analysis.stages.iter().find(|it| it.stage.name == PERFORMANCE).map(|it| &it.figures);
    let accuracy = report.analysis.accuracy.as_ref().map(|it| {
        let figures = |prefix: &'static str| it.figures.iter().filter(move |it| it.name.starts_with(prefix));
        let rouge: Map<String, Value> =
            figures("rouge").map(|it| (it.name.clone(), (it.value / 100.0).into())).collect();
        let number = |name| figures(name).next().map(|it| it.value);
        json!({
            "total_samples": it.scored + it.without_answer,
            "rouge": rouge,
            "passed": match it.verdict { AccuracyVerdict::Passed => Some(true), AccuracyVerdict::Failed => Some(false), AccuracyVerdict::Undecided | AccuracyVerdict::NotJudged => None },
            "run_gen_len": number("gen_len"),
            "run_gen_num": number("gen_num"),
        })
    });
    let mut logs: Map<String, Value> = [
        ("summary_txt", Mode::PerformanceOnly, "mlperf_log_summary.txt"),
        ("detail_txt", Mode::PerformanceOnly, "mlperf_log_detail.txt"),
        ("accuracy_json", Mode::AccuracyOnly, "mlperf_log_accuracy.json"),
    ]
    .into_iter()
    .map(|(key, mode, file)| (key.to_owned(), of_mode(mode).map(|it| format!("{}/{file}", it.folder)).into()))
    .collect();
    let scores = report.analysis.accuracy.as_ref().filter(|it| !it.figures.is_empty());
    let rouge = scores.and_then(|_| of_mode(Mode::AccuracyOnly)).map(|it| format!("{}/rouge.json", it.folder));
    logs.insert("rouge_json".to_owned(), rouge.into());
    let keys = json!({
        "meta": {"category": category(&canonical_benchmark(&loadgen.benchmark), tests), "scenario": scenario, "model": report.analysis.model},
        "system": {
            "gpu_count": report.run.hardware.as_ref().map(|it| it.accelerators),
            "vllm_version": report.server.filter(|it| it.before.engine.as_deref().is_some_and(|it| it.eq_ignore_ascii_case("vllm"))).and_then(|it| it.before.version.clone()),
            // No server reports its torch version.
            "torch_version": null,
        },
        "run": {
            "accuracy": accuracy,
            "performance": performance.map(|it| json!({
                "scenario": scenario,
                "duration_s": stage.map(|it| it.duration.as_secs_f64()),
                "total_new_tokens": stage.map(|it| it.output_tokens),
                "tokens_per_sec": logged(it, ["result_tokens_per_second", "result_completed_tokens_per_second"])
                    .or_else(|| corrected(it, |it| it.tokens_per_second)),
                "samples_per_sec": logged(it, ["result_samples_per_second", "result_completed_samples_per_sec"])
                    .or_else(|| corrected(it, |it| it.samples_per_second)),
            })),
        },
        "logs": logs,
        // These paths are added later by `benchwright mlperf`, which draws the plots after the run.
        "plots": {"tokens_per_sec": null, "latency_cdf": null},
    });
    match keys {
        Value::Object(keys) => keys,
        _ => Map::new(),
    }
}

/// The MLPerf category; `None` if benchmark and scenario do not determine it.
fn category(benchmark: &str, tests: &LoadGenTests) -> Option<&'static str> {
    match tests.verdicts().next()?.scenario {
        Scenario::SingleStream | Scenario::MultiStream => Some("edge"),
        Scenario::Offline if benchmark == "llama3_1-8b-edge" => Some("edge"),
        Scenario::Offline if benchmark != "llama3_1-8b" => None,
        Scenario::Offline | Scenario::Server => Some("datacenter"),
    }
}

fn tool() -> String {
    format!("benchwright {TOOL_VERSION}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use workload_profiles::{loadgen::Qsl, workload::Extra};

    use super::*;

    #[test]
    fn a_credential_of_the_sampling_is_blacked_out() {
        let extra = json!({"api_key": "secret", "top_k": 3});
        let config = LoadGenConfig {
            tool: tool(),
            target: "http://sut:80".into(),
            model: "m".into(),
            loadgen: LoadGen {
                benchmark: "b".into(),
                round: "v6.1".into(),
                sut_name: "SUT".into(),
                qsl: Qsl { name: "q".into(), total_sample_count: 1, performance_sample_count: 1 },
                batch_size: None,
                max_concurrency: None,
                tests: Vec::new(),
                auto_qps: None,
                user_conf: String::new(),
            },
            effective: Vec::new(),
            requests: RequestSource::Mock,
            sampling: Sampling { extra: serde_json::from_value::<Extra>(extra).unwrap(), ..Sampling::default() },
            timeouts: Timeouts::default(),
        };
        let written = config.without_secrets().unwrap();
        assert_eq!(written["sampling"]["extra"], json!({"api_key": "<redacted>", "top_k": 3}));
        assert_eq!(written["loadgen"]["benchmark"], "b");
    }
}
