//! `config.json` and `summary.json` of a run with LoadGen tests. The same types are written and read.

use analysis::loadgen::verdict::{TestVerdict, TrialVerdict};
use crds::{accuracy::AccuracyVerdict, summary::Outcome};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use workload_profiles::{
    loadgen::{Effective, Mode},
    workload::{LoadGen, RequestSource, Sampling, Timeouts},
};

use super::LoadGenReport;
use crate::{Report, TOOL_VERSION, redact::redact};

/// `config.json`: what the tests were run with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadGenConfig {
    /// Name and release of the program that wrote the file.
    pub tool: String,
    pub target: String,
    pub model: String,
    pub loadgen: LoadGen,
    /// The settings in effect, one for each test.
    pub effective: Vec<Effective>,
    pub requests: RequestSource,
    pub sampling: Sampling,
    pub timeouts: Timeouts,
}

impl LoadGenConfig {
    pub(super) fn new(report: &Report<'_>, loadgen: &LoadGen, tests: &LoadGenReport) -> LoadGenConfig {
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

    /// What is written: a field of the sampling or the requests may be a credential.
    pub(super) fn without_secrets(&self) -> serde_json::Result<Value> {
        let mut config = serde_json::to_value(self)?;
        redact(&mut config);
        Ok(config)
    }
}

/// `summary.json`: what the tests came to.
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
    /// Why the outcome is what it is, as sentences.
    pub reasons: Vec<String>,
    /// The trials before the tests.
    pub trials: Vec<TrialVerdict>,
    pub tests: Vec<TestVerdict>,
    /// The same in the words of the runner for Llama 3.1 8B: `meta`, `system`, `run`, `logs`. What is not known is null.
    #[serde(flatten)]
    pub runner: Map<String, Value>,
}

impl LoadGenSummary {
    pub(super) fn new(report: &Report<'_>, loadgen: &LoadGen, tests: &LoadGenReport) -> LoadGenSummary {
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
            runner: runner_keys(report, tests),
        }
    }
}

/// The keys of the runner's `summary.json`. Figures of accuracy are on its scale of 0 to 1.
fn runner_keys(report: &Report<'_>, tests: &LoadGenReport) -> Map<String, Value> {
    let of_mode = |mode| tests.verdicts().find(|it| it.mode == mode && !it.audited);
    let performance = of_mode(Mode::PerformanceOnly);
    let scenario = tests.verdicts().next().map(|it| it.scenario.name().to_lowercase());
    let rate = |it: &TestVerdict| {
        let keys = ["result_samples_per_second", "result_completed_samples_per_sec"];
        keys.iter().find_map(|key| it.figures.get(*key).cloned())
    };
    let accuracy = report.analysis.accuracy.as_ref().map(|it| {
        let figures = |prefix: &'static str| it.figures.iter().filter(move |it| it.name.starts_with(prefix));
        let rouge: Map<String, Value> =
            figures("rouge").map(|it| (it.name.clone(), (it.value / 100.0).into())).collect();
        let number = |name| figures(name).next().map(|it| it.value);
        json!({
            "rouge": rouge,
            "passed": match it.verdict { AccuracyVerdict::Passed => Some(true), AccuracyVerdict::Failed => Some(false), AccuracyVerdict::Undecided | AccuracyVerdict::NotJudged => None },
            "run_gen_len": number("gen_len"),
            "run_gen_num": number("gen_num"),
        })
    });
    let logs: Map<String, Value> = [
        ("summary_txt", Mode::PerformanceOnly, "mlperf_log_summary.txt"),
        ("detail_txt", Mode::PerformanceOnly, "mlperf_log_detail.txt"),
        ("accuracy_json", Mode::AccuracyOnly, "mlperf_log_accuracy.json"),
    ]
    .into_iter()
    .map(|(key, mode, file)| (key.to_owned(), of_mode(mode).map(|it| format!("{}/{file}", it.folder)).into()))
    .collect();
    let keys = json!({
        "meta": {"scenario": scenario, "model": report.analysis.model},
        "system": {
            "gpu_count": report.run.hardware.as_ref().map(|it| it.accelerators),
            "vllm_version": report.server.filter(|it| it.before.engine.as_deref().is_some_and(|it| it.eq_ignore_ascii_case("vllm"))).and_then(|it| it.before.version.clone()),
        },
        "run": {
            "accuracy": accuracy,
            "performance": performance.map(|it| json!({
                "scenario": scenario,
                "tokens_per_sec": it.figures.get("result_tokens_per_second"),
                "samples_per_sec": rate(it),
            })),
        },
        "logs": logs,
    });
    match keys {
        Value::Object(keys) => keys,
        _ => Map::new(),
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
