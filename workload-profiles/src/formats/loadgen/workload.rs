//! The LoadGen tests that a workload holds, and their phases.

use serde::{Deserialize, Serialize};

use super::{Effective, Mode, Qsl, Settings};

/// MLPerf LoadGen tests on one data set, in sequence. Sample i of the data set is request i of the workload's source.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadGen {
    /// LoadGen's name of the benchmark, as in `mlperf.conf`: `llama3_1-8b`, `llama2-70b-interactive` and so on.
    pub benchmark: String,
    /// The MLPerf Inference round with the built-in `mlperf.conf`: `v6.1`.
    pub round: String,
    /// The name of the system under test in logs.
    pub sut_name: String,
    /// What the sample library reports.
    pub qsl: Qsl,
    /// Maximum concurrency in Server and Offline. Other requests wait in the client, and their latency includes the wait. Absent: no limit.
    pub max_concurrency: Option<u32>,
    /// Number of Offline samples per request, each with its own prompt: static batches. Absent: one request per sample.
    pub batch_size: Option<u32>,
    /// The tests, in order. Each has logs of its own.
    pub tests: Vec<LoadGenTest>,
    /// How the target rate is found before the tests; absent: it is in their settings.
    pub auto_qps: Option<AutoQps>,
    /// The text of the user.conf that was applied; empty: none was applied.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user_conf: String,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadGenTest {
    /// The settings after all configuration files.
    pub settings: Settings,
    /// Whether an audit.config was applied. The logs then contain a warning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub audited: bool,
    /// For a trial of a search: the rates of the trials before it, in queries per second. Its sample numbers continue after the earlier trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials_before: Vec<f64>,
}

impl LoadGenTest {
    /// The folder of its logs in the results folder.
    pub fn folder(&self) -> &'static str {
        if self.settings.mode == Mode::AccuracyOnly { "Accuracy" } else { "Performance" }
    }

    /// The phases of the test, in order. A search for the peak has one phase for all its trials.
    pub fn phases(&self, qsl: &Qsl) -> Vec<Phase> {
        let sets = || (0..Effective::new(&self.settings, qsl).accuracy_sets(qsl)).map(|set| Phase::Accuracy { set });
        match self.settings.mode {
            Mode::AccuracyOnly => sets().collect(),
            Mode::SubmissionRun => sets().chain([Phase::Performance]).collect(),
            Mode::PerformanceOnly | Mode::FindPeakPerformance => vec![Phase::Performance],
        }
    }
}

/// The part of a test between loading a sample set and unloading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Each sample of a set is sent once, and all answers are kept.
    Accuracy {
        /// The index of the set, from 0.
        set: u64,
    },
    /// The phase that is measured.
    Performance,
}

/// How to find a target rate that the profile does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AutoQps {
    /// A share of the samples per second of the last Offline run against the same target and model; a search when there was
    /// none.
    LastOffline {
        /// 0.8 in MLPerf's runner for Llama-3.1-8B.
        share: f64,
    },
    /// A search: short trials, then a test of full length.
    Search,
}
