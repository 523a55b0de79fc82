//! The effective settings: the settings after LoadGen has normalised them before a test.

use serde::{Deserialize, Serialize};

use super::{Qsl, Scenario, Settings};

/// The effective settings of a test. The names are those in LoadGen's logs, without the prefix `effective_`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are LoadGen's, and say all that there is to say")]
pub struct Effective {
    pub samples_per_query: u64,
    pub target_qps: f64,
    pub target_latency_ns: u64,
    pub target_latency_percentile: f64,
    pub max_async_queries: u64,
    pub target_duration_ms: u64,
    pub min_duration_ms: u64,
    pub max_duration_ms: u64,
    pub min_query_count: u64,
    pub max_query_count: u64,
    pub min_sample_count: u64,
    pub performance_sample_count: u64,
    pub accuracy_sample_count: u64,
    pub sample_concatenate_permutation: bool,
}

impl Effective {
    /// Computes the effective settings of a test. As in LoadGen, a rate below 0 becomes 1. LoadGen also logs an error.
    pub fn new(settings: &Settings, qsl: &Qsl) -> Effective {
        let given = |value: u64, default: u64| if value == 0 { default } else { value };
        let performance_sample_count = given(settings.performance_sample_count_override, qsl.performance_sample_count);
        let accuracy_sample_count = given(settings.accuracy_sample_count_override, qsl.total_sample_count);
        let or_one = |rate: f64| if rate < 0.0 { 1.0 } else { rate };
        let mut it = Effective {
            samples_per_query: 1,
            target_qps: 0.0,
            target_latency_ns: 0,
            target_latency_percentile: 0.99,
            max_async_queries: 1,
            target_duration_ms: settings.min_duration_ms,
            min_duration_ms: settings.min_duration_ms,
            max_duration_ms: settings.max_duration_ms,
            min_query_count: settings.min_query_count,
            max_query_count: settings.max_query_count,
            min_sample_count: 0,
            performance_sample_count,
            accuracy_sample_count,
            sample_concatenate_permutation: settings.sample_concatenate_permutation,
        };
        let seconds = settings.min_duration_ms as f64 / 1_000.0;
        match settings.scenario {
            Scenario::SingleStream => {
                it.target_qps = 1e9 / settings.single_stream_expected_latency_ns;
                it.target_latency_percentile = settings.single_stream_target_latency_percentile;
                if settings.sample_concatenate_permutation {
                    let expected = (2.0 * seconds * it.target_qps) as u64;
                    let least = it.min_query_count.max(expected);
                    // LoadGen rounds down to a multiple of the library's sample count, then adds this count once.
                    let pass = qsl.performance_sample_count.max(1);
                    it.min_query_count = (least - least % pass).saturating_add(pass);
                }
            }
            Scenario::MultiStream => {
                it.target_qps = 1e9 / settings.multi_stream_expected_latency_ns;
                it.target_latency_percentile = settings.multi_stream_target_latency_percentile;
                it.samples_per_query = settings.multi_stream_samples_per_query;
            }
            Scenario::Server => {
                it.target_qps = or_one(settings.server_target_qps);
                it.target_latency_ns = settings.server_target_latency_ns;
                it.target_latency_percentile = settings.server_target_latency_percentile;
                it.max_async_queries = settings.server_max_async_queries;
            }
            Scenario::Offline => {
                it.target_qps = or_one(settings.offline_expected_qps);
                let samples = (1.1 * seconds * it.target_qps) as u64;
                it.samples_per_query = if settings.performance_issue_unique {
                    performance_sample_count
                } else {
                    settings.min_query_count.max(samples)
                };
                it.min_query_count = 1;
                it.target_duration_ms = 0;
            }
        }
        it.min_sample_count = it.min_query_count.saturating_mul(it.samples_per_query);
        it
    }

    /// The number of sample sets that an accuracy phase sends, one after the other.
    pub fn accuracy_sets(&self, qsl: &Qsl) -> u64 {
        self.accuracy_sample_count.min(qsl.total_sample_count).div_ceil(self.performance_sample_count.max(1))
    }
}
