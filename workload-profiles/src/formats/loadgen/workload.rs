//! The LoadGen tests that a workload contains, and their phases.

use serde::{Deserialize, Serialize};

use super::{Effective, Mode, Qsl, Settings};

/// MLPerf LoadGen tests on one data set, run one after the other. Sample i of the data set is request i of the workload's request source.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadGen {
    /// LoadGen's name of the benchmark, as in `mlperf.conf`: `llama3_1-8b`, `llama2-70b-interactive` and so on.
    pub benchmark: String,
    /// The round of MLPerf Inference whose built-in `mlperf.conf` is used, such as `v6.1`.
    pub round: String,
    /// The name of the system under test in logs.
    pub sut_name: String,
    /// The counts that the sample library reports.
    pub qsl: Qsl,
    /// Maximum concurrency in Server and Offline. Requests above it wait in the client, and their latency includes the wait. If absent, there is
    /// no limit.
    pub max_concurrency: Option<u32>,
    /// Number of Offline samples in one request (a static batch), each with its own prompt. If absent, each request contains one sample.
    pub batch_size: Option<u32>,
    /// The tests, in order. Each test has its own logs.
    pub tests: Vec<LoadGenTest>,
    /// How the target rate is found before the tests. If absent, the settings of the tests contain the rate.
    pub auto_qps: Option<AutoQps>,
    /// The text of the user.conf that was applied. Empty: none was applied.
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
    /// If this test is a trial of a search: the rates of the earlier trials, in queries per second. The sample numbers of this trial continue after
    /// those of the earlier trials. Otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials_before: Vec<f64>,
}

impl LoadGenTest {
    /// The name of the folder with the test's logs, in the results folder.
    pub fn folder(&self) -> &'static str {
        if self.settings.mode == Mode::AccuracyOnly { "Accuracy" } else { "Performance" }
    }

    /// Returns the phases of the test, in order. A search for the peak has only one phase, which contains all trials.
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
    /// Each sample of a set is sent once, and all answers are recorded.
    Accuracy {
        /// The index of the set, from 0.
        set: u64,
    },
    /// The phase whose performance is measured.
    Performance,
}

/// How to find a target rate that the profile does not contain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AutoQps {
    /// A share of the samples per second of the last Offline run against the same target and model. If there is no such run, a search.
    LastOffline {
        /// The share, 0 to 1. MLPerf's runner for Llama-3.1-8B uses 0.8.
        share: f64,
    },
    /// A search: short trials, then a test with full length.
    Search,
}
