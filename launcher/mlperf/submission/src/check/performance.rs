//! Checks performance logs.

use workload_profiles::loadgen::{Mode, Round};

use super::{
    super::{
        detail_log::DetailLog, findings::About, layout::ScenarioFolder, limits::MIN_DURATION_MS, rules::Rule,
        tree::MAX_TEXT, user_conf,
    },
    Case, Check,
};

/// The word by which Benchwright's own tests mark generated samples.
const SYNTHETIC: &str = "synthetic";

/// Returns how the metric of a scenario is computed: its key, a factor, and the unit after multiplication.
fn metric(scenario_folder: ScenarioFolder) -> (&'static str, f64, &'static str) {
    match scenario_folder {
        ScenarioFolder::Offline => ("result_tokens_per_second", 1.0, "tokens/s"),
        ScenarioFolder::Server | ScenarioFolder::Interactive => ("result_completed_tokens_per_second", 1.0, "tokens/s"),
        ScenarioFolder::SingleStream => ("result_90.00_percentile_latency_ns", 1e-6, "ms"),
        ScenarioFolder::MultiStream => ("result_99.00_percentile_per_query_latency_ns", 1e-6, "ms"),
    }
}

/// Returns the key that MLPerf's checker reads first. It can later use tokens per second instead.
fn first_metric(scenario_folder: ScenarioFolder) -> &'static str {
    match scenario_folder {
        ScenarioFolder::Offline => "result_samples_per_second",
        ScenarioFolder::Server | ScenarioFolder::Interactive => "result_completed_samples_per_sec",
        ScenarioFolder::SingleStream => "early_stopping_latency_ss",
        ScenarioFolder::MultiStream => "early_stopping_latency_ms",
    }
}

impl Check {
    /// Checks the performance logs. Returns the metric and its unit.
    pub(super) fn performance(&mut self, case: &Case) -> (Option<f64>, &'static str) {
        let folder = format!("{}/performance/run_1", case.results);
        self.wanted(&format!("{folder}/mlperf_log_accuracy.json"), Rule::MissingQuietFile);
        let Some(log) = self.detail(case, &folder, Mode::PerformanceOnly) else {
            return (None, metric(case.scenario_folder).2);
        };
        let file = format!("{folder}/mlperf_log_detail.txt");
        let ran = case.ran(&log);
        let mut about = self.findings.about(&file);
        settings(&log, case, ran, self.round, &mut about);
        outcome(&log, case, ran, &mut about);
        let key = first_metric(ran);
        about.want(log.number(key).is_some(), Rule::ResultKey, key, log.shown(key), "a number");
        let inferred = ("result_qps_without_loadgen_overhead", 1.0, "samples/s");
        let (key, factor, unit) = if ran == case.scenario_folder { metric(ran) } else { inferred };
        let value = log.number(key).filter(|it| it.is_finite() && *it > 0.0);
        about.want(value.is_some(), Rule::Metric, key, log.shown(key), "a number above 0");
        self.summary(&folder, &log);
        self.user_conf(case, &log, ran);
        (value.map(|it| it * factor), unit)
    }

    /// Checks that the summary, which people read, contains the same verdict as the detail log.
    fn summary(&mut self, folder: &str, log: &DetailLog) {
        let file = format!("{folder}/mlperf_log_summary.txt");
        // A missing summary has already been reported.
        let Ok(text) = self.tree.text(&file, MAX_TEXT) else { return };
        let found = text.lines().find_map(|it| it.trim().strip_prefix("Result is")?.trim_start().strip_prefix(':'));
        let (Some(found), Some(wanted)) = (found.map(str::trim), log.text("result_validity")) else { return };
        let mut about = self.findings.about(&file);
        // If the detail log does not contain VALID, that has already been reported.
        let met = found == wanted || wanted != "VALID";
        about.want(met, Rule::SummaryDiffers, "Result is", found, format!("{wanted}, as the detail log has it"));
    }

    /// Compares user.conf with the log. A difference alone is not a fault, because a program can set more than its user.conf does.
    fn user_conf(&mut self, case: &Case, log: &DetailLog, ran: ScenarioFolder) {
        let file = format!("{}/user.conf", case.measurements);
        let Ok(text) = self.tree.text(&file, MAX_TEXT) else { return };
        for it in user_conf::differences(&text, log, case.benchmark, ran, self.round) {
            self.notes.insert(format!("{file}: {it}; give the user.conf that the test was run with"));
        }
    }
}

fn settings(log: &DetailLog, case: &Case, ran: ScenarioFolder, round: Round, about: &mut About<'_>) {
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
    if ran == ScenarioFolder::Offline && case.division.bounded() {
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
    if matches!(case.scenario_folder, ScenarioFolder::Server | ScenarioFolder::Interactive) {
        let (key, most) = ("effective_target_latency_ns", benchmark.target_latency_ns);
        let met = log.whole(key).is_some_and(|it| it <= most);
        about.want(met, Rule::TargetLatency, key, log.shown(key), format!("{most} at most"));
    }
    if case.division.bounded() {
        verdict_limits(log, case, ran, about);
    }
    let key = "qsl_name";
    about.want(log.text(key) != Some(SYNTHETIC), Rule::MadeUp, key, log.shown(key), "the name of a data set");
    about.want(
        !log.audited,
        Rule::Audited,
        "warning_generic_message",
        "a test with an audit.config",
        "a test without one",
    );
}

/// Checks that the limits of the test were at least as strict as those of the round. Otherwise VALID and early stopping mean nothing.
fn verdict_limits(log: &DetailLog, case: &Case, ran: ScenarioFolder, about: &mut About<'_>) {
    let percentile = match ran {
        ScenarioFolder::Offline => return,
        ScenarioFolder::SingleStream => 0.9,
        ScenarioFolder::Server | ScenarioFolder::Interactive | ScenarioFolder::MultiStream => 0.99,
    };
    let (rule, key) = (Rule::VerdictLimits, "effective_target_latency_percentile");
    let met = log.number(key).is_some_and(|it| it >= percentile);
    about.want(met, rule, key, log.shown(key), format!("{percentile} at least"));
    let Some(limits) = case.benchmark.token_limits(case.scenario_folder) else { return };
    for (key, millis) in
        [("requested_server_ttft_latency", limits.ttft_ms), ("requested_server_tpot_latency", limits.tpot_ms)]
    {
        let most = millis * 1_000_000;
        about.want(log.whole(key).is_some_and(|it| it <= most), rule, key, log.shown(key), format!("{most} at most"));
    }
}

fn outcome(log: &DetailLog, case: &Case, ran: ScenarioFolder, about: &mut About<'_>) {
    let key = "result_validity";
    about.want(log.text(key) == Some("VALID"), Rule::Validity, key, log.shown(key), "VALID");
    if ran != ScenarioFolder::Offline {
        let key = "early_stopping_met";
        about.want(log.flag(key) == Some(true), Rule::EarlyStopping, key, log.shown(key), true);
    }
    if let Some((line, error)) = &log.first_error {
        let found = format!("{} errors, the first on line {line} ({error})", log.errors);
        about.want(false, Rule::PerformanceErrors, "is_error", found, "none");
    }
    let Some(limits) = case.benchmark.token_limits(case.scenario_folder).filter(|_| case.division.bounded()) else {
        return;
    };
    let rule =
        if case.scenario_folder == ScenarioFolder::Interactive { Rule::InteractiveLimits } else { Rule::TokenLimits };
    for (key, millis) in [
        ("result_first_token_99.00_percentile_latency_ns", limits.ttft_ms),
        ("result_time_per_output_token_99.00_percentile_ns", limits.tpot_ms),
    ] {
        // The conversion is exact, because limits are at most a few seconds.
        let met = log.number(key).is_some_and(|it| it < (millis * 1_000_000) as f64);
        about.want(met, rule, key, log.shown(key), format!("below {millis} ms"));
    }
}
