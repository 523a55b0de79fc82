//! LoadGen's figures with LoadGen's known errors corrected, for the launcher's own report.

use workload_profiles::loadgen::Scenario;

use crate::results::{Results, early_stopping_outcome::EarlyStoppingOutcome, validity};

/// Figures in addition to those in the logs. A rate is `None` if nothing was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CorrectedResults {
    /// Samples per second until the last completion. LoadGen's figure for Server ends at the completion of the query that was issued last. So it is
    /// too high if an earlier query took longer.
    pub samples_per_second: Option<f64>,
    /// Tokens per second until the last completion.
    pub tokens_per_second: Option<f64>,
    /// Number of tokens divided by the summed latency of all samples, per second. LoadGen's `result_token_throughput` is this value per nanosecond.
    pub token_throughput: Option<f64>,
    /// Early stopping on latencies, in SingleStream and MultiStream. Also computed with token latencies. LoadGen's `early_stopping_latency_ss` and
    /// `_ms` then refer to first tokens instead.
    pub latency: Option<EarlyStoppingOutcome>,
    /// Early stopping on first tokens; `None` without token latencies. Unlike in LoadGen, also computed if the test of the times per output token
    /// fails.
    pub ttft: Option<EarlyStoppingOutcome>,
    /// Early stopping on times per output token; `None` without token latencies.
    pub tpot: Option<EarlyStoppingOutcome>,
    /// Number of samples with fewer than two tokens. LoadGen counts them as 0 tokens, with a negative time per output token.
    pub too_few_tokens: u64,
}

impl CorrectedResults {
    /// Computes the figures of a phase. `lasted_s`: seconds from its start to its last completion.
    pub fn new(results: &Results, lasted_s: f64) -> CorrectedResults {
        let settings = results.settings;
        let rate = |amount: f64, seconds: f64| Some(amount / seconds).filter(|it| it.is_finite() && *it > 0.0);
        let tokens = settings.use_token_latencies;
        let streamed = tokens && settings.scenario != Scenario::Offline;
        let estimates = matches!(settings.scenario, Scenario::SingleStream | Scenario::MultiStream);
        let latency = || {
            let second = settings.scenario == Scenario::SingleStream;
            let (percentile, queries) = (results.target_percentile(), results.measured.queries_issued);
            EarlyStoppingOutcome::of_estimate(percentile, queries, results.main_latencies(), second)
        };
        let few = || results.measured.tokens_per_sample.iter().filter(|it| **it < 2).count() as u64;
        CorrectedResults {
            samples_per_second: rate(results.samples.count() as f64, lasted_s),
            tokens_per_second: rate(results.tokens as f64, lasted_s),
            token_throughput: rate(results.tokens as f64, results.samples.sum() as f64 / 1e9),
            latency: estimates.then(latency),
            ttft: streamed.then(|| validity::of_ttft(results)),
            tpot: streamed.then(|| validity::of_tpot(results)),
            too_few_tokens: if tokens { few() } else { 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use workload_profiles::loadgen::{Effective, Qsl, Settings};

    use super::*;
    use crate::results::PhaseResult;

    fn check(settings: &Settings, measured: &PhaseResult, lasted_s: f64) -> CorrectedResults {
        let qsl = Qsl { name: String::new(), total_sample_count: 10, performance_sample_count: 10 };
        let effective = Effective::new(settings, &qsl);
        CorrectedResults::new(&Results::new(measured, settings, &effective), lasted_s)
    }

    fn server() -> Settings {
        Settings {
            scenario: Scenario::Server,
            use_token_latencies: true,
            server_tpot_latency: 10,
            ..Settings::default()
        }
    }

    #[test]
    fn rates_end_with_the_latest_completion() {
        let measured = PhaseResult {
            sample_latencies_ns: vec![1_000_000_000; 10],
            tokens_per_sample: vec![3; 10],
            final_query_all_samples_done_time_s: 2.0,
            ..PhaseResult::default()
        };
        let found = check(&server(), &measured, 4.0);
        assert_eq!((found.samples_per_second, found.tokens_per_second), (Some(2.5), Some(7.5)));
        assert_eq!(found.token_throughput, Some(3.0));
    }

    #[test]
    fn both_token_tests_are_told_where_the_first_fails() {
        let measured = PhaseResult {
            sample_latencies_ns: vec![100; 500],
            first_token_latencies_ns: vec![1; 500],
            time_per_output_token_ns: vec![11; 500],
            tokens_per_sample: vec![0; 500],
            queries_issued: 500,
            ..PhaseResult::default()
        };
        let found = check(&server(), &measured, 1.0);
        assert!(!found.tpot.unwrap().met && found.ttft.unwrap().met);
        assert_eq!(found.too_few_tokens, 500);
    }

    #[test]
    fn nothing_measured_is_nothing_told() {
        let found = check(&server(), &PhaseResult::default(), 0.0);
        assert_eq!((found.samples_per_second, found.tokens_per_second, found.token_throughput), (None, None, None));
    }
}
