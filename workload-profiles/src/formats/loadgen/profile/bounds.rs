//! Bounds of a test's settings. They apply to settings from any file.

use super::{mlperf_tests::Tests, target_qps::MAX_RATE};
use crate::{
    formats::common::bounds::{MAX_STAGE_SECONDS, MAX_STAGES},
    loadgen::{Effective, Mode, Qsl, Scenario, Settings},
    reader::Section,
    workload::{LoadGenTest, MAX_REQUESTS},
};

/// Maximum expected latency in milliseconds: one day.
const MAX_LATENCY_MS: f64 = 86_400_000.0;
/// The remedy in messages about settings.
const REMEDY: &str = "set it under settings or in user_conf";

/// A problem: the setting's name in configuration files, and what is wrong.
type Found = (&'static str, String);

/// Adds a problem for each setting that cannot be run. Returns true if there is none.
pub(super) fn check(root: &Section, tests: &Tests, qsl: &Qsl) -> bool {
    let mut problems: Vec<Found> = Vec::new();
    for test in &tests.tests {
        let found = check_settings(&test.settings, qsl, tests.auto_qps.is_some());
        problems.extend(found.into_iter().filter(|it| !problems.contains(it)).collect::<Vec<_>>());
    }
    if problems.is_empty() {
        problems = check_sums(tests, qsl);
    }
    for (name, message) in &problems {
        root.problem(&format!("settings.{name}"), message);
    }
    problems.is_empty()
}

/// Checks the number of sample sets, and the total number of samples in all tests.
fn check_sums(tests: &Tests, qsl: &Qsl) -> Vec<Found> {
    let mut problems = Vec::new();
    let mut stages = 0_u64;
    let mut requests = 0.0;
    for LoadGenTest { settings, .. } in &tests.tests {
        let effective = Effective::new(settings, qsl);
        let has_accuracy = matches!(settings.mode, Mode::AccuracyOnly | Mode::SubmissionRun);
        stages = stages.saturating_add(if has_accuracy { effective.accuracy_sets(qsl) } else { 0 }).saturating_add(1);
        requests += if has_accuracy { effective.accuracy_sample_count.min(qsl.total_sample_count) as f64 } else { 0.0 };
        requests += if settings.mode == Mode::AccuracyOnly { 0.0 } else { samples(&effective) };
    }
    if stages > MAX_STAGES as u64 {
        let what = format!("gives {stages} sample sets, and a run has at most {MAX_STAGES}");
        problems.push(("performance_sample_count_override", format!("{what}; raise it")));
    } else if requests > MAX_REQUESTS as f64 {
        let what = format!(
            "gives, with the rate and the durations, {requests:.0} samples; a run sends at most {MAX_REQUESTS}"
        );
        problems.push(("min_query_count", format!("{what}, so lower one of them")));
    }
    problems
}

/// Returns the number of samples that the performance phase of a test sends at its target rate, within the test's minimum and maximum query counts.
fn samples(effective: &Effective) -> f64 {
    let expected = effective.target_duration_ms as f64 / 1_000.0 * effective.target_qps;
    let queries = expected.max(effective.min_query_count as f64);
    let most = if effective.max_query_count == 0 { f64::INFINITY } else { effective.max_query_count as f64 };
    queries.min(most) * effective.samples_per_query as f64
}

fn check_settings(settings: &Settings, qsl: &Qsl, auto_qps: bool) -> Vec<Found> {
    let mut problems = Vec::new();
    problems.extend(check_target(settings, auto_qps));
    problems.extend(above_zero("min_query_count", settings.min_query_count as f64, MAX_REQUESTS as f64));
    problems.extend(check_percentile(settings));
    problems.extend(check_durations(settings));
    problems.extend(check_issue_order(settings, qsl));
    let reported: Vec<&str> = problems.iter().map(|(name, _)| *name).collect();
    problems.extend(check_finite(settings).filter(|(name, _)| !reported.contains(name)));
    problems
}

/// Checks that every real number is finite, because JSON reports cannot contain `inf` or NaN. Reports also contain the settings of scenarios that
/// have no test.
fn check_finite(settings: &Settings) -> impl Iterator<Item = Found> {
    let values = [
        ("target_latency", Scenario::SingleStream, settings.single_stream_expected_latency_ns),
        ("target_latency_percentile", Scenario::SingleStream, settings.single_stream_target_latency_percentile),
        ("target_latency", Scenario::MultiStream, settings.multi_stream_expected_latency_ns),
        ("target_latency_percentile", Scenario::MultiStream, settings.multi_stream_target_latency_percentile),
        ("target_qps", Scenario::Server, settings.server_target_qps),
        ("target_latency_percentile", Scenario::Server, settings.server_target_latency_percentile),
        ("target_qps", Scenario::Offline, settings.offline_expected_qps),
        ("accuracy_log_probability", settings.scenario, settings.accuracy_log_probability),
        ("server_find_peak_qps_boundary_step_size", Scenario::Server, settings.server_find_peak_qps_boundary_step_size),
    ];
    values.into_iter().filter(|(.., value)| !value.is_finite()).map(|(name, scenario, value)| {
        (name, format!("is {value} for {}; write a finite number in the file or the key that sets it", scenario.name()))
    })
}

fn above_zero(name: &'static str, value: f64, most: f64) -> Option<Found> {
    (!(value > 0.0 && value <= most)).then(|| (name, format!("is {value}; {REMEDY}, above 0 and at most {most}")))
}

/// Checks the expected rate or latency of the scenario.
fn check_target(settings: &Settings, auto_qps: bool) -> Vec<Found> {
    let latency = |ns: f64| above_zero("target_latency", ns / 1e6, MAX_LATENCY_MS);
    let rate = |qps: f64| above_zero("target_qps", qps, MAX_RATE).filter(|_| !auto_qps);
    let samples = settings.multi_stream_samples_per_query as f64;
    let found = match settings.scenario {
        Scenario::Server => [rate(settings.server_target_qps), None],
        Scenario::Offline => [rate(settings.offline_expected_qps), None],
        Scenario::SingleStream => [latency(settings.single_stream_expected_latency_ns), None],
        Scenario::MultiStream => [
            latency(settings.multi_stream_expected_latency_ns),
            above_zero("samples_per_query", samples, MAX_REQUESTS as f64),
        ],
    };
    found.into_iter().flatten().collect()
}

fn check_percentile(settings: &Settings) -> Option<Found> {
    let percentile = match settings.scenario {
        Scenario::SingleStream => settings.single_stream_target_latency_percentile,
        Scenario::MultiStream => settings.multi_stream_target_latency_percentile,
        Scenario::Server => settings.server_target_latency_percentile,
        Scenario::Offline => return None,
    };
    let what = || format!("is {}; {REMEDY}, above 0 and below 100", percentile * 100.0);
    (!(percentile > 0.0 && percentile < 1.0)).then(|| ("target_latency_percentile", what()))
}

fn check_durations(settings: &Settings) -> impl Iterator<Item = Found> {
    let durations = [("min_duration", settings.min_duration_ms), ("max_duration", settings.max_duration_ms)];
    let most = MAX_STAGE_SECONDS * 1_000;
    durations
        .into_iter()
        .filter(move |(_, ms)| *ms > most)
        .map(move |(name, ms)| (name, format!("is {ms} milliseconds; {REMEDY}, at most {most}")))
}

/// Checks the settings that change which samples the performance phase sends.
fn check_issue_order(settings: &Settings, qsl: &Qsl) -> Vec<Found> {
    let mut problems = Vec::new();
    let same = settings.performance_issue_same;
    if same && settings.performance_issue_unique {
        problems
            .push(("performance_issue_same", "is on, and so is performance_issue_unique; keep one of them".to_owned()));
    }
    let index = settings.performance_issue_same_index;
    let count = Effective::new(settings, qsl).performance_sample_count.min(qsl.total_sample_count);
    if same && index >= count {
        problems.push((
            "performance_issue_same_index",
            format!("is {index}; {REMEDY}, below {count}, the number of samples"),
        ));
    }
    problems
}
