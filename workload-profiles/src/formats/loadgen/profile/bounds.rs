//! What no test may exceed, whichever file set it.

use super::mlperf_tests::{MAX_RATE, Tests};
use crate::{
    formats::common::bounds::{MAX_STAGE_SECONDS, MAX_STAGES},
    loadgen::{Effective, Mode, Qsl, Scenario, Settings},
    reader::Section,
    workload::MAX_REQUESTS,
};

/// Where settings are mended.
const REMEDY: &str = "set it under settings or in user_conf";

/// Leaves a problem with each setting that cannot be run; whether there is none.
pub(super) fn check(root: &Section, tests: &Tests, qsl: &Qsl) -> bool {
    let mut problems: Vec<(&str, String)> = Vec::new();
    for test in &tests.tests {
        let found = check_test(&test.settings, qsl, tests.auto_qps.is_some());
        problems.extend(found.into_iter().filter(|it| !problems.contains(it)).collect::<Vec<_>>());
    }
    let mut stages = 0_u64;
    let mut requests = 0.0;
    for test in &tests.tests {
        let effective = Effective::new(&test.settings, qsl);
        let accuracy = matches!(test.settings.mode, Mode::AccuracyOnly | Mode::SubmissionRun);
        stages = stages.saturating_add(if accuracy { effective.accuracy_sets(qsl) } else { 0 }).saturating_add(1);
        requests += if accuracy { effective.accuracy_sample_count.min(qsl.total_sample_count) as f64 } else { 0.0 };
        requests += if test.settings.mode == Mode::AccuracyOnly { 0.0 } else { samples(&effective) };
    }
    if problems.is_empty() && stages > MAX_STAGES as u64 {
        let what = format!("makes {stages} sample sets, and a run has at most {MAX_STAGES}");
        problems.push(("performance_sample_count_override", format!("{what}; raise it")));
    }
    if problems.is_empty() && requests > MAX_REQUESTS as f64 {
        let what = format!(
            "comes, with the rate and the durations, to {requests:.0} samples; at most {MAX_REQUESTS} are sent"
        );
        problems.push(("min_query_count", format!("{what} in a run, so lower one of them")));
    }
    for (name, message) in &problems {
        root.problem(&format!("settings.{name}"), message);
    }
    problems.is_empty()
}

/// The samples that the performance phase of a test sends at least, or at its rate.
fn samples(effective: &Effective) -> f64 {
    let expected = effective.target_duration_ms as f64 / 1_000.0 * effective.target_qps;
    let queries = expected.max(effective.min_query_count as f64);
    let most = if effective.max_query_count == 0 { f64::INFINITY } else { effective.max_query_count as f64 };
    queries.min(most) * effective.samples_per_query as f64
}

fn check_test(settings: &Settings, qsl: &Qsl, auto_qps: bool) -> Vec<(&'static str, String)> {
    let mut problems = Vec::new();
    let mut above_zero = |name, value: f64, most: f64| {
        if !(value > 0.0 && value <= most) {
            problems.push((name, format!("is {value}; {REMEDY}, above 0 and at most {most}")));
        }
    };
    let most = MAX_REQUESTS as f64;
    // Nobody expects a latency of more than a day.
    let latency = |ns: f64| ns / 1e6;
    match settings.scenario {
        Scenario::Server if !auto_qps => above_zero("target_qps", settings.server_target_qps, MAX_RATE),
        Scenario::Offline if !auto_qps => above_zero("target_qps", settings.offline_expected_qps, MAX_RATE),
        Scenario::Server | Scenario::Offline => {}
        Scenario::SingleStream => {
            above_zero("target_latency", latency(settings.single_stream_expected_latency_ns), MAX_MS);
        }
        Scenario::MultiStream => {
            above_zero("target_latency", latency(settings.multi_stream_expected_latency_ns), MAX_MS);
            above_zero("samples_per_query", settings.multi_stream_samples_per_query as f64, most);
        }
    }
    above_zero("min_query_count", settings.min_query_count as f64, most);
    let percentile = match settings.scenario {
        Scenario::SingleStream => settings.single_stream_target_latency_percentile,
        Scenario::MultiStream => settings.multi_stream_target_latency_percentile,
        Scenario::Server => settings.server_target_latency_percentile,
        Scenario::Offline => 0.99,
    };
    if !(percentile > 0.0 && percentile < 1.0) {
        let what = format!("is {}; {REMEDY}, above 0 and below 100", percentile * 100.0);
        problems.push(("target_latency_percentile", what));
    }
    for (name, ms) in [("min_duration", settings.min_duration_ms), ("max_duration", settings.max_duration_ms)] {
        let most = MAX_STAGE_SECONDS * 1_000;
        if ms > most {
            problems.push((name, format!("is {ms} milliseconds; {REMEDY}, at most {most}")));
        }
    }
    let (unique, same) = (settings.performance_issue_unique, settings.performance_issue_same);
    let (index, count) = (
        settings.performance_issue_same_index,
        Effective::new(settings, qsl).performance_sample_count.min(qsl.total_sample_count),
    );
    if unique && same {
        problems
            .push(("performance_issue_same", "stands beside performance_issue_unique; keep one of them".to_owned()));
    }
    if same && index >= count {
        problems.push(("performance_issue_same_index", format!("is {index}; {REMEDY}, below {count}, the samples")));
    }
    problems
}

/// The longest expected latency, a day, in milliseconds.
const MAX_MS: f64 = 86_400_000.0;
