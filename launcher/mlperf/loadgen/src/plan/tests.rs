use workload_profiles::loadgen::Mode;

use super::*;

/// Returns tests as in the profiles of Llama-3.1-8B.
fn tests(change: impl Fn(&mut Settings), scenarios: &[(Scenario, Mode)]) -> LoadGen {
    let base = yardstick(100);
    let test = |(scenario, mode): &(Scenario, Mode)| {
        let mut settings = Settings {
            scenario: *scenario,
            mode: *mode,
            min_duration_ms: 600_000,
            server_target_qps: 22.0,
            server_ttft_latency: 2_000_000_000,
            single_stream_expected_latency_ns: 6e8,
            offline_expected_qps: 22.0,
            ..base.tests[0].settings.clone()
        };
        change(&mut settings);
        LoadGenTest { settings, audited: false, trials_before: Vec::new() }
    };
    LoadGen { tests: scenarios.iter().map(test).collect(), sut_name: "a server\u{1b}[31m".into(), ..base }
}

fn phase(scenario: Scenario, change: impl Fn(&mut Settings)) -> PhasePlan {
    let loadgen = tests(change, &[(scenario, Mode::PerformanceOnly)]);
    plan(&loadgen, 0).unwrap().tests.remove(0).phases.remove(0)
}

#[test]
fn a_plan_reads_well() {
    let scenarios = [
        (Scenario::Server, Mode::SubmissionRun),
        (Scenario::Offline, Mode::PerformanceOnly),
        (Scenario::SingleStream, Mode::PerformanceOnly),
        (Scenario::MultiStream, Mode::PerformanceOnly),
        (Scenario::Server, Mode::FindPeakPerformance),
    ];
    let mut loadgen = tests(|_| {}, &scenarios);
    loadgen.tests[1].audited = true;
    loadgen.tests[1].settings.accuracy_log_sampling_target = 100;
    loadgen.tests[4].settings.use_token_latencies = false;
    loadgen.max_concurrency = Some(512);
    loadgen.auto_qps = Some(AutoQps::LastOffline { share: 0.8 });
    insta::assert_snapshot!(plan(&loadgen, 3).unwrap());
}

#[test]
fn a_plan_reads_well_by_machine() {
    let loadgen = tests(|_| {}, &[(Scenario::Server, Mode::PerformanceOnly)]);
    insta::assert_json_snapshot!(plan(&loadgen, 2).unwrap());
}

#[test]
fn a_test_that_cannot_be_run_is_named() {
    let loadgen = tests(
        |it| it.server_target_qps = 0.0,
        &[(Scenario::Offline, Mode::AccuracyOnly), (Scenario::Server, Mode::PerformanceOnly)],
    );
    let message = plan(&loadgen, 0).unwrap_err().to_string();
    assert!(message.starts_with("test 2, Server, Performance: server_target_qps is 0; "), "{message}");
    let loadgen = tests(|it| it.server_target_latency_percentile = 1.0, &[(Scenario::Server, Mode::PerformanceOnly)]);
    let message = plan(&loadgen, 0).unwrap_err().to_string();
    assert!(message.contains("target_latency_percentile is 1 "), "{message}");
}

#[test]
fn maxima_end_a_phase_early() {
    let all = phase(Scenario::Server, |_| {});
    assert_eq!((all.expected.queries, all.early_stopping.unwrap().budget), (13_368, Some(107)));
    let few = phase(Scenario::Server, |it| it.max_query_count = 400);
    assert_eq!((few.expected.queries, few.early_stopping.unwrap().budget), (400, None));
    let short = phase(Scenario::Server, |it| it.max_duration_ms = 60_000);
    assert!((1_200..1_450).contains(&short.expected.queries) && short.expected.seconds <= 60.0, "{short:?}");
    let short = phase(Scenario::SingleStream, |it| it.max_duration_ms = 60_000);
    assert_eq!((short.expected.queries, short.expected.seconds), (101, 60.0));
}

#[test]
fn a_stream_ends_when_count_and_duration_are_met() {
    let few = phase(Scenario::SingleStream, |it| it.sample_concatenate_permutation = false);
    assert_eq!((few.expected.queries, few.expected.seconds, few.queries), (1_001, 600.0, 2_001));
    let many = phase(Scenario::SingleStream, |_| {});
    assert_eq!((many.expected.queries, many.early_stopping.unwrap().least_queries), (13_368, 13_368));
}

#[test]
fn the_yardstick_has_so_many_queries_in_whole_passes() {
    let phase = plan(&yardstick(1_000_000), 0).unwrap().tests.remove(0).phases.remove(0);
    assert_eq!((phase.queries, phase.passes), (1_002_600, 75.0));
}
