//! Validity: whether a performance phase counts, and what to change if it does not.
//!
//! LoadGen has no failed samples: every sample must be completed. So this launcher adds one rule to LoadGen's four: a phase with a failed sample or
//! an early end is INVALID, and the logs contain the reason. Errors in the log do not affect validity.

use workload_profiles::loadgen::Scenario;

use crate::results::{Results, Series, early_stopping_outcome::EarlyStoppingOutcome};

/// LoadGen's message if too few queries were issued.
pub const EXITED_EARLY: &str = "The test exited early, before enough queries were issued.";

/// The verdict on a performance phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Validity {
    /// Whether the target percentile is within its limits. Checked only in Server; always true in other scenarios.
    pub perf_constraints_met: bool,
    /// Whether the phase was long enough.
    pub min_duration_met: bool,
    /// Whether enough queries were issued and enough samples are complete.
    pub min_queries_met: bool,
    /// The results of early stopping.
    pub early_stopping: EarlyStoppingOutcomes,
    /// What to do if the limits are not met.
    pub perf_advice: String,
    /// What to do if the phase was too short.
    pub duration_advice: &'static str,
    /// The reason why the phase is INVALID by the launcher's own rule; empty if that rule is met.
    pub faults: Vec<String>,
}

/// The results of early stopping. With token latencies, first tokens are tested only if the test of the times per output token passes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EarlyStoppingOutcomes {
    /// Whether all requested tests pass.
    pub met: bool,
    /// The test of latencies; `None` with token latencies.
    pub latency: Option<EarlyStoppingOutcome>,
    /// The test of first tokens.
    pub ttft: Option<EarlyStoppingOutcome>,
    /// The test of times per output token.
    pub tpot: Option<EarlyStoppingOutcome>,
}

impl Validity {
    /// Judges a phase. `faults`: reasons why the phase is INVALID by the launcher's own rule.
    pub fn from_results(results: &Results, faults: Vec<String>) -> Validity {
        let (measured, effective) = (results.measured, results.effective);
        let (seconds, duration_advice) = match results.settings.scenario {
            Scenario::SingleStream | Scenario::MultiStream => (
                measured.final_query_issued_time_s,
                "Decrease the expected latency so the loadgen pre-generates more queries.",
            ),
            Scenario::Server => (
                measured.final_query_scheduled_time_s,
                "Increase the target QPS so the loadgen pre-generates more queries.",
            ),
            Scenario::Offline => (
                measured.max_latency_s,
                "Increase expected QPS so the loadgen pre-generates a larger (coalesced) query.",
            ),
        };
        let perf_advice = perf_advice(results);
        Validity {
            perf_constraints_met: perf_advice.is_empty(),
            min_duration_met: seconds >= effective.min_duration_ms as f64 / 1_000.0,
            min_queries_met: measured.queries_issued >= effective.min_query_count
                && results.samples.count() >= effective.min_sample_count,
            early_stopping: EarlyStoppingOutcomes::from_results(results),
            perf_advice,
            duration_advice,
            faults,
        }
    }

    /// Whether the phase is VALID.
    pub fn valid(&self) -> bool {
        self.perf_constraints_met
            && self.min_duration_met
            && self.min_queries_met
            && self.early_stopping.met
            && self.faults.is_empty()
    }

    /// Returns VALID or INVALID, as the logs contain it.
    pub fn word(&self) -> &'static str {
        if self.valid() { "VALID" } else { "INVALID" }
    }

    /// Returns why the phase is INVALID, as one line. As in LoadGen, it is empty if early stopping is the only reason.
    pub fn invalid_reason(&self) -> String {
        let mut reason = String::new();
        if !self.perf_constraints_met {
            reason += &format!("{} ", self.perf_advice);
        }
        if !self.min_duration_met {
            reason += &format!("{} ", self.duration_advice);
        }
        if !self.min_queries_met {
            reason += EXITED_EARLY;
        }
        for fault in &self.faults {
            if !reason.is_empty() && !reason.ends_with(' ') {
                reason.push(' ');
            }
            reason += fault;
        }
        reason.replace('\n', " ")
    }
}

impl EarlyStoppingOutcomes {
    fn from_results(results: &Results) -> EarlyStoppingOutcomes {
        if results.settings.scenario == Scenario::Offline {
            return EarlyStoppingOutcomes { met: true, ..EarlyStoppingOutcomes::default() };
        }
        if !results.settings.use_token_latencies {
            let latency = on(results, &results.samples, results.effective.target_latency_ns);
            return EarlyStoppingOutcomes {
                met: latency.met,
                latency: Some(latency),
                ..EarlyStoppingOutcomes::default()
            };
        }
        let tpot = of_tpot(results);
        let ttft = tpot.met.then(|| of_ttft(results));
        EarlyStoppingOutcomes { met: ttft.as_ref().is_some_and(|it| it.met), latency: None, ttft, tpot: Some(tpot) }
    }

    /// Returns the values that are logged as early_stopping_latency_ss and _ms. They come from the test that ran last. With token latencies, that is
    /// not the test of sample latencies.
    pub fn estimates(&self) -> (i64, i64) {
        let last = self.ttft.as_ref().or(self.tpot.as_ref()).or(self.latency.as_ref());
        last.map_or((0, 0), |it| (it.estimate.unwrap_or_default(), it.estimate_99.unwrap_or_default()))
    }
}

/// Runs the test of first tokens, even in a case in which LoadGen would not run it.
pub(crate) fn of_ttft(results: &Results) -> EarlyStoppingOutcome {
    on(results, &results.first_tokens, results.settings.server_ttft_latency)
}

/// Runs the test of times per output token.
pub(crate) fn of_tpot(results: &Results) -> EarlyStoppingOutcome {
    on(results, &results.per_token, results.settings.server_tpot_latency)
}

/// Runs the scenario's test on one kind of values.
fn on(results: &Results, values: &Series, limit: u64) -> EarlyStoppingOutcome {
    let (percentile, queries) = (results.target_percentile(), results.measured.queries_issued);
    match results.settings.scenario {
        Scenario::SingleStream => EarlyStoppingOutcome::of_estimate(percentile, queries, values, true),
        // Even with token latencies, LoadGen uses the latencies of queries here.
        Scenario::MultiStream => EarlyStoppingOutcome::of_estimate(percentile, queries, &results.queries, false),
        Scenario::Server => EarlyStoppingOutcome::of_limit(percentile, queries, values.over(limit)),
        Scenario::Offline => EarlyStoppingOutcome { met: true, ..EarlyStoppingOutcome::default() },
    }
}

/// Returns what to do if the limits are not met; empty if they are met.
fn perf_advice(results: &Results) -> String {
    const REDUCE: &str = "Reduce target QPS to improve latency.";
    let settings = results.settings;
    if settings.scenario != Scenario::Server {
        return String::new();
    }
    let percentile = results.target_percentile();
    let above = |values: &Series, limit: u64| i128::from(values.percentile(percentile)) > i128::from(limit);
    if !settings.use_token_latencies {
        let over = above(&results.samples, results.effective.target_latency_ns);
        return if over { REDUCE.into() } else { String::new() };
    }
    let ttft = above(&results.first_tokens, settings.server_ttft_latency).then_some("TTFT");
    let tpot = above(&results.per_token, settings.server_tpot_latency).then_some("TPOT");
    let advice = ttft.into_iter().chain(tpot).map(|limit| format!("{limit} constrain not met: {REDUCE}"));
    advice.collect::<Vec<_>>().join("\n * ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use workload_profiles::loadgen::{Effective, Qsl, Settings};

    use super::*;
    use crate::results::PhaseResult;

    fn server(tokens: bool) -> Settings {
        Settings {
            scenario: Scenario::Server,
            use_token_latencies: tokens,
            min_duration_ms: 1_000,
            server_target_latency_ns: 100,
            server_ttft_latency: 100,
            server_tpot_latency: 10,
            ..Settings::default()
        }
    }

    fn measured(latencies: &[i64], ttft: i64, tpot: i64) -> PhaseResult {
        PhaseResult {
            sample_latencies_ns: latencies.to_vec(),
            first_token_latencies_ns: vec![ttft; latencies.len()],
            time_per_output_token_ns: vec![tpot; latencies.len()],
            tokens_per_sample: vec![2; latencies.len()],
            queries_issued: latencies.len() as u64,
            final_query_scheduled_time_s: 1.0,
            ..PhaseResult::default()
        }
    }

    fn judge(settings: &Settings, measured: &PhaseResult, faults: Vec<String>) -> Validity {
        let qsl = Qsl { name: String::new(), total_sample_count: 10, performance_sample_count: 10 };
        let effective = Effective::new(settings, &qsl);
        Validity::from_results(&Results::new(measured, settings, &effective), faults)
    }

    #[test]
    fn a_run_within_all_limits_is_valid() {
        let found = judge(&server(false), &measured(&[100; 459], 0, 0), vec![]);
        assert!(found.valid() && found.word() == "VALID", "{found:?}");
        assert!(judge(&server(true), &measured(&[1_000; 459], 100, 10), vec![]).valid());
    }

    #[test]
    fn a_fault_of_the_run_makes_it_invalid_and_changes_nothing_else() {
        let clean = judge(&server(false), &measured(&[100; 459], 0, 0), vec![]);
        let found = judge(&server(false), &measured(&[100; 459], 0, 0), vec!["1 sample failed".into()]);
        assert!(!found.valid());
        assert_eq!(Validity { faults: vec![], ..found }, clean);
    }

    #[test]
    fn both_token_limits_are_told_in_one_text() {
        let found = judge(&server(true), &measured(&[1_000; 459], 101, 11), vec![]);
        let expected = "TTFT constrain not met: Reduce target QPS to improve latency.\n * TPOT constrain not met: Reduce \
                        target QPS to improve latency.";
        assert_eq!((found.perf_constraints_met, found.perf_advice.as_str()), (false, expected));
    }

    #[test]
    fn first_tokens_are_not_tested_when_the_output_tokens_fail() {
        let found = judge(&server(true), &measured(&[1_000; 459], 100, 11), vec![]);
        assert!(found.early_stopping.ttft.is_none() && found.early_stopping.tpot.is_some_and(|it| !it.met));
        assert!(!found.early_stopping.met);
    }

    #[test]
    fn too_short_and_too_few_are_told_apart() {
        let short = PhaseResult { final_query_scheduled_time_s: 0.999, ..measured(&[1; 459], 0, 0) };
        let found = judge(&server(false), &short, vec![]);
        assert_eq!((found.min_duration_met, found.min_queries_met), (false, true));
        let few = judge(&server(false), &measured(&[1; 99], 0, 0), vec![]);
        assert_eq!((few.min_duration_met, few.min_queries_met), (true, false));
    }

    #[test]
    fn nothing_measured_is_judged_too() {
        for scenario in Scenario::ALL {
            let settings = Settings { scenario, use_token_latencies: true, ..Settings::default() };
            assert!(!judge(&settings, &PhaseResult::default(), vec![]).valid(), "{scenario:?}");
        }
    }

    proptest! {
        #[test]
        fn a_looser_limit_never_makes_a_run_invalid(
            latencies in prop::collection::vec(0_i64..300, 459..700), limit in 0_u64..300, more in 0_u64..100,
        ) {
            let with = |limit| {
                let settings = Settings { server_target_latency_ns: limit, ..server(false) };
                judge(&settings, &measured(&latencies, 0, 0), vec![]).valid()
            };
            prop_assert!(!with(limit) || with(limit + more));
        }
    }
}
