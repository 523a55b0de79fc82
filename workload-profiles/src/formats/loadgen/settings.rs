//! The settings of LoadGen (its `TestSettings`), with the same names and defaults.

use serde::{Deserialize, Serialize};

/// How queries are issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scenario {
    /// One sample at a time. The next query is issued when the previous one is complete.
    #[default]
    SingleStream,
    /// Several samples at a time. The next query is issued when all samples of the previous one are complete.
    MultiStream,
    /// One sample per query, at the times of a Poisson process.
    Server,
    /// All samples in one query.
    Offline,
}

impl Scenario {
    /// All scenarios.
    pub const ALL: [Scenario; 4] = [Scenario::SingleStream, Scenario::MultiStream, Scenario::Server, Scenario::Offline];

    /// The name of the scenario in configuration files and logs.
    pub fn name(self) -> &'static str {
        match self {
            Scenario::SingleStream => "SingleStream",
            Scenario::MultiStream => "MultiStream",
            Scenario::Server => "Server",
            Scenario::Offline => "Offline",
        }
    }
}

/// The phases of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// Sends every sample once, then the performance phase. Both are in the same logs.
    SubmissionRun,
    /// Sends every sample once.
    AccuracyOnly,
    /// Only the performance phase.
    #[default]
    PerformanceOnly,
    /// Repeats performance phases of the Server scenario, until the highest rate within the latency limits is found.
    FindPeakPerformance,
}

impl Mode {
    /// The name of the mode in logs.
    pub fn name(self) -> &'static str {
        match self {
            Mode::SubmissionRun => "SubmissionRun",
            Mode::AccuracyOnly => "AccuracyOnly",
            Mode::PerformanceOnly => "PerformanceOnly",
            Mode::FindPeakPerformance => "FindPeakPerformance",
        }
    }
}

/// The counts that the sample library (QSL) of a test reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Qsl {
    /// The name of the library in logs.
    #[serde(default)]
    pub name: String,
    /// Number of samples in the data set.
    pub total_sample_count: u64,
    /// Maximum number of samples that are in memory at the same time. A performance phase uses at most this many.
    pub performance_sample_count: u64,
}

/// The settings of a test as requested. Names, units and defaults are LoadGen's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the names are LoadGen's, and say all that there is to say")]
pub struct Settings {
    pub scenario: Scenario,
    pub mode: Mode,
    pub single_stream_expected_latency_ns: f64,
    /// A fraction, like all percentiles here: 0.9 is the 90th percentile.
    pub single_stream_target_latency_percentile: f64,
    pub multi_stream_expected_latency_ns: f64,
    pub multi_stream_target_latency_percentile: f64,
    pub multi_stream_samples_per_query: u64,
    pub server_target_qps: f64,
    pub server_target_latency_ns: u64,
    pub server_target_latency_percentile: f64,
    pub server_coalesce_queries: bool,
    pub server_find_peak_qps_decimals_of_precision: i32,
    pub server_find_peak_qps_boundary_step_size: f64,
    /// Maximum queries in flight; 0: no limit.
    pub server_max_async_queries: u64,
    /// Number of threads that issue queries. 0: only the thread that runs the test.
    pub server_num_issue_query_threads: u64,
    pub offline_expected_qps: f64,
    /// Sends the whole sample set again and again, each time in a new order. LoadGen calls this equal issue.
    pub sample_concatenate_permutation: bool,
    pub min_duration_ms: u64,
    /// Maximum duration in milliseconds. 0: no limit.
    pub max_duration_ms: u64,
    pub min_query_count: u64,
    /// Maximum number of queries. 0: no limit.
    pub max_query_count: u64,
    /// Only the lower 32 bits of a seed are used.
    pub qsl_rng_seed: u64,
    pub sample_index_rng_seed: u64,
    pub schedule_rng_seed: u64,
    pub accuracy_log_rng_seed: u64,
    pub accuracy_log_probability: f64,
    pub accuracy_log_sampling_target: u64,
    pub test05: bool,
    pub test05_qsl_rng_seed: u64,
    pub test05_sample_index_rng_seed: u64,
    pub test05_schedule_rng_seed: u64,
    pub print_timestamps: bool,
    pub performance_issue_unique: bool,
    pub performance_issue_same: bool,
    pub performance_issue_same_index: u64,
    /// Number of samples for performance phases. 0: the number that the sample library reports.
    pub performance_sample_count_override: u64,
    /// Number of samples for accuracy phases. 0: the number that the sample library reports.
    pub accuracy_sample_count_override: u64,
    pub use_token_latencies: bool,
    /// The limit for TTFT, in nanoseconds.
    pub server_ttft_latency: u64,
    /// The limit for TPOT, in nanoseconds.
    pub server_tpot_latency: u64,
    pub infer_token_latencies: bool,
    pub token_latency_scaling_factor: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            scenario: Scenario::default(),
            mode: Mode::default(),
            single_stream_expected_latency_ns: 1_000_000.0,
            single_stream_target_latency_percentile: 0.90,
            multi_stream_expected_latency_ns: 8_000_000.0,
            multi_stream_target_latency_percentile: 0.99,
            multi_stream_samples_per_query: 8,
            server_target_qps: 1.0,
            server_target_latency_ns: 100_000_000,
            server_target_latency_percentile: 0.99,
            server_coalesce_queries: false,
            server_find_peak_qps_decimals_of_precision: 1,
            server_find_peak_qps_boundary_step_size: 1.0,
            server_max_async_queries: 0,
            server_num_issue_query_threads: 0,
            offline_expected_qps: 1.0,
            sample_concatenate_permutation: false,
            min_duration_ms: 10_000,
            max_duration_ms: 0,
            min_query_count: 100,
            max_query_count: 0,
            qsl_rng_seed: 0,
            sample_index_rng_seed: 0,
            schedule_rng_seed: 0,
            accuracy_log_rng_seed: 0,
            accuracy_log_probability: 0.0,
            accuracy_log_sampling_target: 0,
            test05: false,
            test05_qsl_rng_seed: 0,
            test05_sample_index_rng_seed: 0,
            test05_schedule_rng_seed: 0,
            print_timestamps: false,
            performance_issue_unique: false,
            performance_issue_same: false,
            performance_issue_same_index: 0,
            performance_sample_count_override: 0,
            accuracy_sample_count_override: 0,
            use_token_latencies: false,
            server_ttft_latency: 100_000_000,
            server_tpot_latency: 100_000_000,
            infer_token_latencies: false,
            token_latency_scaling_factor: 0,
        }
    }
}
