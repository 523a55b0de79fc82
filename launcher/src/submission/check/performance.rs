//! The rules on performance logs.

use workload_profiles::loadgen::{Mode, Round};

use super::{
    super::{detail_log::DetailLog, findings::About, layout::Place, limits::MIN_DURATION_MS, rules::Rule},
    Case, Check,
};

/// What our own tests call samples that are made up.
const SYNTHETIC: &str = "synthetic";

/// The reported metric of a scenario: its key, what it is multiplied with, and its unit then.
pub(super) fn metric(place: Place) -> (&'static str, f64, &'static str) {
    match place {
        Place::Offline => ("result_tokens_per_second", 1.0, "tokens/s"),
        Place::Server | Place::Interactive => ("result_completed_tokens_per_second", 1.0, "tokens/s"),
        Place::SingleStream => ("result_90.00_percentile_latency_ns", 1e-6, "ms"),
        Place::MultiStream => ("result_99.00_percentile_per_query_latency_ns", 1e-6, "ms"),
    }
}

impl Check {
    /// Checks the performance logs, and returns the reported metric.
    pub(super) fn performance(&mut self, case: &Case) -> Option<f64> {
        let folder = format!("{}/performance/run_1", case.results);
        self.wanted(&format!("{folder}/mlperf_log_accuracy.json"), Rule::MissingQuietFile);
        let log = self.detail(case, &folder, Mode::PerformanceOnly)?;
        let file = format!("{folder}/mlperf_log_detail.txt");
        let mut about = self.findings.about(&file);
        settings(&log, case, self.round, &mut about);
        outcome(&log, case, &mut about);
        let (key, factor, _) = metric(case.place);
        let value = log.number(key).filter(|it| it.is_finite() && *it > 0.0);
        about.want(value.is_some(), Rule::Metric, key, log.shown(key), "a number above 0");
        Some(value? * factor)
    }
}

fn settings(log: &DetailLog, case: &Case, round: Round, about: &mut About<'_>) {
    let benchmark = case.benchmark;
    for (name, seed) in ["qsl", "sample_index", "schedule"].into_iter().zip(round.seeds()) {
        let key = format!("effective_{name}_rng_seed");
        about.want(log.whole(&key) == Some(seed), Rule::Seeds, &key, log.shown(&key), seed);
    }
    let mut at_least = |rule, key: &str, least: u64| {
        let met = log.whole(key).is_some_and(|it| it >= least);
        about.want(met, rule, key, log.shown(key), format!("{least} at least"));
    };
    at_least(Rule::MinDuration, "effective_min_duration_ms", MIN_DURATION_MS);
    at_least(Rule::SampleCount, "effective_performance_sample_count", benchmark.samples);
    if case.place == Place::Offline && case.division.bounded() {
        at_least(Rule::OfflineSamples, "effective_samples_per_query", benchmark.samples);
    }
    let mut flag = |rule, key: &str, wanted: bool| {
        about.want(log.flag(key) == Some(wanted), rule, key, log.shown(key), wanted);
    };
    flag(Rule::TokenLatencies, "requested_use_token_latencies", true);
    flag(Rule::IssueOrder, "effective_performance_issue_unique", false);
    flag(Rule::IssueOrder, "effective_performance_issue_same", false);
    if case.division.bounded() {
        flag(Rule::EqualIssue, "effective_sample_concatenate_permutation", true);
    }
    if matches!(case.place, Place::Server | Place::Interactive) {
        let (key, most) = ("effective_target_latency_ns", benchmark.target_latency_ns);
        let met = log.whole(key).is_some_and(|it| it <= most);
        about.want(met, Rule::TargetLatency, key, log.shown(key), format!("{most} at most"));
    }
    if case.division.bounded() {
        verdict_limits(log, case, about);
    }
    let key = "qsl_name";
    about.want(log.text(key) != Some(SYNTHETIC), Rule::MadeUp, key, log.shown(key), "the name of a data set");
    about.want(!log.audited, Rule::Audited, "warning_generic_message", "a test with an audit.config", "one without");
}

/// VALID and early stopping are said of the limits that the test had, so that looser ones say nothing.
fn verdict_limits(log: &DetailLog, case: &Case, about: &mut About<'_>) {
    let percentile = match case.place {
        Place::Offline => return,
        Place::SingleStream => 0.9,
        Place::Server | Place::Interactive | Place::MultiStream => 0.99,
    };
    let (rule, key) = (Rule::VerdictLimits, "effective_target_latency_percentile");
    let met = log.number(key).is_some_and(|it| it >= percentile);
    about.want(met, rule, key, log.shown(key), format!("{percentile} at least"));
    let Some(limits) = case.benchmark.token_limits(case.place) else { return };
    for (key, millis) in
        [("requested_server_ttft_latency", limits.ttft_ms), ("requested_server_tpot_latency", limits.tpot_ms)]
    {
        let most = millis * 1_000_000;
        about.want(log.whole(key).is_some_and(|it| it <= most), rule, key, log.shown(key), format!("{most} at most"));
    }
}

fn outcome(log: &DetailLog, case: &Case, about: &mut About<'_>) {
    let key = "result_validity";
    about.want(log.text(key) == Some("VALID"), Rule::Validity, key, log.shown(key), "VALID");
    if case.place != Place::Offline {
        let key = "early_stopping_met";
        about.want(log.flag(key) == Some(true), Rule::EarlyStopping, key, log.shown(key), true);
    }
    if let Some((line, error)) = &log.first_error {
        let found = format!("{} errors, the first on line {line} ({error})", log.errors);
        about.want(false, Rule::PerformanceErrors, "is_error", found, "none");
    }
    let Some(limits) = case.benchmark.token_limits(case.place).filter(|_| case.division.bounded()) else { return };
    let rule = if case.place == Place::Interactive { Rule::InteractiveLimits } else { Rule::TokenLimits };
    for (key, millis) in [
        ("result_first_token_99.00_percentile_latency_ns", limits.ttft_ms),
        ("result_time_per_output_token_99.00_percentile_ns", limits.tpot_ms),
    ] {
        // Limits are a few seconds, which a double holds exactly.
        let met = log.number(key).is_some_and(|it| it < (millis * 1_000_000) as f64);
        about.want(met, rule, key, log.shown(key), format!("below {millis} ms"));
    }
}
