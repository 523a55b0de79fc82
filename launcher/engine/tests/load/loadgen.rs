//! Tests of LoadGen's scenarios with a simulated server: when samples are sent, and which rule ends a phase.

use std::{sync::Arc, time::Duration};

use analysis::loadgen::{
    outcome::{TestOutcome, outcomes},
    verdict::TestVerdict,
};
use clock::Clock;
use crds::units::Seed;
use engine::{
    issue::run_here,
    stop::{Stop, StopReason},
};
use loadgen::phases::planned_phases;
use measurement::{
    load_result::LoadResult,
    phase::{IssuedPhase, Phase as _, PhaseEnd},
    record::{RequestOutcome, RequestRecord},
};
use simulator::{
    SimOptions, Simulator,
    faults::{Fault, FaultKind},
};
use workload_profiles::{
    Workload,
    loadgen::{Mode, Qsl, Scenario, Settings},
    workload::{LengthDistribution, Load, LoadGen, LoadGenTest, RequestSource, Stage},
};

use super::common::*;

/// A workload with one LoadGen test. Its data set has 20 samples, of which at most 10 are loaded at the same time.
pub fn test(settings: Settings) -> Workload {
    let qsl = Qsl { name: "QSL".into(), total_sample_count: 20, performance_sample_count: 10 };
    let scenario = settings.scenario;
    let test = LoadGenTest { settings, audited: false, trials_before: Vec::new() };
    let stages = test
        .phases(&qsl)
        .into_iter()
        .enumerate()
        .map(|(index, phase)| Stage::new(format!("phase-{index}"), Load::LoadGen { scenario, test: 0, phase }));
    let mut workload = workload(stages.collect(), 5);
    workload.loadgen = Some(LoadGen {
        benchmark: "b".into(),
        round: "v6.1".into(),
        sut_name: "SUT".into(),
        qsl,
        batch_size: None,
        max_concurrency: None,
        tests: vec![test],
        auto_qps: None,
        user_conf: String::new(),
    });
    workload
}

pub fn settings(scenario: Scenario) -> Settings {
    Settings { scenario, min_query_count: 1, ..Settings::default() }
}

/// A server that answers a single request in 100 ms: five tokens, 20 ms apart.
fn quick() -> SimOptions {
    server(millis(20), millis(20))
}

fn phase(result: &LoadResult) -> &IssuedPhase {
    result.phases[0].as_ref().unwrap()
}

/// Returns, for each stage, the data set samples that its requests send.
fn samples(workload: &Workload) -> Vec<Vec<u64>> {
    let phases = planned_phases(workload).unwrap().into_iter().flatten();
    phases.map(|it| (0..it.request_count()).map(|number| it.row(number)).collect()).collect()
}

/// Returns when each sample was due, in milliseconds from the start of its phase.
fn due(result: &LoadResult) -> Vec<u128> {
    let began = phase(result).began.unwrap();
    records(result).iter().map(|it| (it.scheduled - began).as_millis()).collect()
}

fn all_ok(records: &[RequestRecord]) -> bool {
    records.iter().all(|it| it.outcome == RequestOutcome::Ok)
}

#[tokio::test(start_paused = true)]
async fn a_server_phase_issues_at_the_times_of_loadgen() {
    let workload = test(Settings { min_duration_ms: 10_000, ..settings(Scenario::Server) });
    let result = issue(&workload, &simulated(quick())).await;
    let began = phase(&result).began.unwrap();
    let records = records(&result);
    let due: Vec<u128> = records.iter().map(|it| (it.scheduled - began).as_nanos()).collect();
    // The times of the official LoadGen library for these settings, with seeds of 0.
    let expected = [
        0,
        898_560_388,
        2_758_164_601,
        4_709_709_937,
        6_588_673_992,
        7_565_680_418,
        8_050_808_581,
        8_403_967_720,
        8_462_352_389,
        8_780_708_530,
        9_430_154_878,
        11_102_366_079,
    ];
    assert_eq!(due, expected);
    assert_eq!(samples(&workload)[0][..12], [4, 5, 9, 1, 6, 0, 3, 1, 5, 9, 7, 6]);
    assert!(all_ok(&records) && records.iter().all(|it| it.send_lag().unwrap() < millis(1)));
    assert_eq!(phase(&result).end, Some(PhaseEnd::Natural));
}

#[tokio::test(start_paused = true)]
async fn a_phase_without_queries_is_refused() {
    let (workload, target) = (test(settings(Scenario::Server)), simulated(quick()));
    let error = run_here(&workload, "m", &target, Seed(42), &Stop::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "no queries were drawn for the stage phase-0; this is a bug, please report it");
}

#[tokio::test(start_paused = true)]
async fn a_phase_of_sessions_is_refused() {
    let mut workload = test(settings(Scenario::Server));
    workload.requests = RequestSource::SharedPrefix {
        groups: 1,
        prompts_per_group: 20,
        system_prompt_len: LengthDistribution::fixed(5),
        question_len: LengthDistribution::fixed(5),
        output_len: LengthDistribution::fixed(5),
        seed: None,
        multi_turn: true,
    };
    let error = try_issue(&workload, &simulated(quick()), Seed(42), &Stop::default()).await.unwrap_err();
    assert!(error.contains("the requests here are turns of sessions"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_single_stream_sends_when_the_last_answer_is_complete_until_count_and_time_are_reached() {
    let wanted = Settings { min_query_count: 3, min_duration_ms: 450, ..settings(Scenario::SingleStream) };
    let result = issue(&test(wanted), &simulated(quick())).await;
    // The first query that is due after 450 ms is the sixth, at 500 ms. The phase ends with it.
    assert_eq!(due(&result), [0, 100, 200, 300, 400, 500]);
    assert_eq!(phase(&result).end, Some(PhaseEnd::Natural));
    assert_eq!((result.issued, result.unissued), (6, 0));
}

#[tokio::test(start_paused = true)]
async fn a_single_stream_of_a_server_that_is_faster_than_expected_runs_out_of_queries() {
    // Queries are planned 400 ms apart, the expected latency, until twice the minimum duration of 500 ms is reached: at 0, 400, 800 and 1,200 ms.
    // Each takes only 100 ms, so these four are used up before 500 ms.
    let expected =
        Settings { min_duration_ms: 500, single_stream_expected_latency_ns: 400e6, ..settings(Scenario::SingleStream) };
    let result = issue(&test(expected), &simulated(quick())).await;
    assert_eq!(due(&result), [0, 100, 200, 300]);
    assert_eq!(phase(&result).end, Some(PhaseEnd::RanOut));
}

#[tokio::test(start_paused = true)]
async fn a_single_stream_waits_for_longer_and_longer_while_a_proxy_has_no_server() {
    let clock = Clock::from_runtime();
    let simulator = Simulator::new(quick());
    // Connections are closed immediately during the first 2 s.
    let target = in_process(move |stream| {
        if clock.now() >= millis(2_000) {
            let simulator = Arc::clone(&simulator);
            tokio::spawn(async move { simulator.serve_connection(stream).await });
        }
    });
    let result = issue(&test(Settings { min_query_count: 12, ..settings(Scenario::SingleStream) }), &target).await;
    assert_eq!(due(&result)[..11], [0, 10, 30, 70, 150, 310, 630, 1_270, 2_270, 2_370, 2_470]);
    let failed = |it: &RequestRecord| it.outcome == RequestOutcome::ConnectError;
    assert_eq!(records(&result).iter().take_while(|it| failed(it)).count(), 8);
    assert!(all_ok(&records(&result)[8..]));
}

#[tokio::test(start_paused = true)]
async fn a_multi_stream_waits_for_all_samples_of_a_query() {
    let wanted = Settings {
        min_query_count: 3,
        min_duration_ms: 0,
        multi_stream_samples_per_query: 4,
        ..settings(Scenario::MultiStream)
    };
    let result = issue(&test(wanted), &simulated(SimOptions { max_num_seqs: 1, ..quick() })).await;
    // The server processes one sample at a time, so a query of four samples takes 4 x 100 ms.
    assert_eq!(due(&result), [0, 0, 0, 0, 400, 400, 400, 400, 800, 800, 800, 800]);
    assert_eq!(phase(&result).end, Some(PhaseEnd::Natural));
}

#[tokio::test(start_paused = true)]
async fn offline_everything_is_due_at_once_and_waits_for_its_place() {
    let wanted =
        Settings { min_query_count: 12, min_duration_ms: 0, offline_expected_qps: 1.0, ..settings(Scenario::Offline) };
    let mut workload = test(wanted);
    let result = issue(&workload, &simulated(quick())).await;
    assert_eq!(due(&result), [0; 12]);
    assert_eq!(phase(&result).end, Some(PhaseEnd::Natural));
    workload.loadgen.as_mut().unwrap().max_concurrency = Some(3);
    let result = issue(&workload, &simulated(quick())).await;
    let records = records(&result);
    assert_eq!(due(&result), [0; 12]);
    let waves = records.iter().map(|it| (it.sent.unwrap() - it.scheduled).as_millis() / 100).collect::<Vec<_>>();
    assert_eq!(waves, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
}

#[tokio::test(start_paused = true)]
async fn an_accuracy_test_sends_every_sample_of_every_set_once() {
    for scenario in Scenario::ALL {
        let wanted = Settings { mode: Mode::AccuracyOnly, min_duration_ms: 0, ..settings(scenario) };
        let workload = test(wanted);
        let result = issue(&workload, &simulated(quick())).await;
        assert_eq!(result.phases.len(), 2);
        let samples = samples(&workload);
        let sample = |it: &RequestRecord| samples[it.stage as usize][it.number as usize];
        let mut sent: Vec<u64> = records(&result).iter().map(sample).collect();
        sent.sort_unstable();
        if scenario == Scenario::MultiStream {
            // The last query of each loaded set is filled up with samples from the start of the set.
            sent.dedup();
        }
        assert_eq!(sent, (0..20).collect::<Vec<_>>(), "{scenario:?}");
        assert!(result.phases.iter().flatten().all(|it| it.end.is_none()));
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_outstanding_queries_end_a_server_phase() {
    let wanted = Settings {
        server_target_qps: 100.0,
        server_max_async_queries: 5,
        min_duration_ms: 2_000,
        ..settings(Scenario::Server)
    };
    let slow = server(Duration::from_secs(10), millis(20));
    let result = issue(&test(wanted), &simulated(slow)).await;
    assert_eq!(phase(&result).end, Some(PhaseEnd::TooManyOutstanding { issued: 6, outstanding: 6 }));
    assert_eq!((records(&result).len(), result.unissued), (6, 0));
    assert!(all_ok(&records(&result)));
}

#[tokio::test(start_paused = true)]
async fn the_largest_query_count_ends_a_phase() {
    for scenario in [Scenario::Server, Scenario::SingleStream] {
        let wanted = Settings { max_query_count: 4, min_query_count: 9, server_target_qps: 50.0, ..settings(scenario) };
        let result = issue(&test(wanted), &simulated(quick())).await;
        assert_eq!(phase(&result).end, Some(PhaseEnd::MaxQueryCount { issued: 4 }));
        assert_eq!(records(&result).len(), 4);
    }
}

#[test]
fn a_submission_run_numbers_its_samples_through_all_phases() {
    let wanted = Settings { mode: Mode::SubmissionRun, min_duration_ms: 0, ..settings(Scenario::SingleStream) };
    let phases = planned_phases(&test(wanted)).unwrap();
    let first: Vec<u64> = phases.iter().flatten().map(|it| it.queries.first_sample).collect();
    assert_eq!(first, [0, 10, 20]);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_phase_says_what_stopped_it() {
    for scenario in [Scenario::Server, Scenario::SingleStream] {
        let stop = Stop::default();
        let wanted = Settings { min_duration_ms: 60_000, server_target_qps: 10.0, ..settings(scenario) };
        let workload = test(wanted);
        let target = simulated(quick());
        let stopping = async {
            tokio::time::sleep(millis(1_050)).await;
            stop.drain(StopReason::Deadline);
        };
        let (result, ()) = tokio::join!(issue_until(&workload, &target, &stop), stopping);
        assert_eq!(phase(&result).end, Some(PhaseEnd::Stopped(StopReason::Deadline)));
        let records = records(&result);
        assert!(!records.is_empty() && all_ok(&records), "{scenario:?}");
    }
}

/// Returns the outcome of the only test in a workload.
pub fn outcome(workload: &Workload, result: &LoadResult) -> TestOutcome {
    let phases = planned_phases(workload).unwrap();
    let mut tests = outcomes(workload.loadgen.as_ref().unwrap(), &workload.stages, &phases, result);
    assert_eq!(tests.len(), 1);
    tests.remove(0)
}

/// About 500 queries in 5 s, with token latencies, and limits that the server easily meets.
fn valid_server() -> Settings {
    Settings {
        server_target_qps: 100.0,
        min_query_count: 500,
        min_duration_ms: 4_000,
        use_token_latencies: true,
        server_ttft_latency: 1_000_000_000,
        server_tpot_latency: 500_000_000,
        ..settings(Scenario::Server)
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_test_within_its_limits_is_valid_and_one_past_them_is_not() {
    let workload = test(valid_server());
    let verdict = TestVerdict::from_outcome(&outcome(&workload, &issue(&workload, &simulated(quick())).await));
    assert_eq!((verdict.valid, verdict.counts(), verdict.errors), (Some(true), true, 0), "{verdict:?}");
    assert_eq!(verdict.figures["result_query_count"], 500);
    // The first token takes 20 ms, and the four others 20 ms each. A request that overlaps others waits for their steps.
    let median = verdict.figures["result_first_token_50.00_percentile_latency_ns"].as_u64().unwrap();
    assert!((20_000_000..60_000_000).contains(&median), "{median}");

    let workload = test(Settings { server_ttft_latency: 1_000, ..valid_server() });
    let verdict = TestVerdict::from_outcome(&outcome(&workload, &issue(&workload, &simulated(quick())).await));
    assert_eq!(verdict.valid, Some(false));
    assert!(verdict.reasons[0].contains("TTFT constrain not met"), "{:?}", verdict.reasons);
}

#[tokio::test(start_paused = true)]
async fn failed_samples_are_counted_end_no_test_and_make_it_invalid() {
    let workload = test(valid_server());
    let broken = fault(FaultKind::Status(500)).map(|it| Fault { ratio: 0.02, ..it });
    let result = issue(&workload, &simulated(SimOptions { fault: broken, ..quick() })).await;
    let test = outcome(&workload, &result);
    let phase = &test.log.phases[0];
    let failed: u64 = phase.failed.values().sum();
    let measured = phase.result.as_ref().unwrap();
    assert!(failed > 0);
    assert_eq!((measured.sample_latencies_ns.len() as u64 + failed, measured.queries_issued), (500, 500));
    let verdict = TestVerdict::from_outcome(&test);
    assert_eq!(verdict.valid, Some(false));
    let told = format!("{failed} samples failed");
    assert!(verdict.reasons[0].contains(&told), "{:?}", verdict.reasons);
}

#[tokio::test(start_paused = true)]
async fn a_test_that_is_stopped_has_logs_that_say_so() {
    let stop = Stop::default();
    let workload = test(valid_server());
    let target = simulated(quick());
    let stopping = async {
        tokio::time::sleep(millis(1_000)).await;
        stop.drain(StopReason::Signal);
    };
    let (result, ()) = tokio::join!(issue_until(&workload, &target, &stop), stopping);
    let test = outcome(&workload, &result);
    let verdict = TestVerdict::from_outcome(&test);
    assert_eq!(verdict.valid, Some(false));
    assert!(verdict.reasons[0].contains("stopped on request"), "{:?}", verdict.reasons);
    let mut summary = Vec::new();
    loadgen::logs::summary::write(&test.log, &mut summary).unwrap();
    let summary = String::from_utf8(summary).unwrap();
    assert!(summary.contains("Result is : INVALID") && summary.contains("Test Parameters Used"), "{summary}");
}

#[tokio::test(start_paused = true)]
async fn a_bound_of_answers_is_no_length_that_was_asked_for() {
    for (ignore_eos, requested) in [(true, Some(5)), (false, None)] {
        let mut workload = test(Settings { min_duration_ms: 0, ..settings(Scenario::SingleStream) });
        workload.sampling.ignore_eos = ignore_eos;
        let result = issue(&workload, &simulated(quick())).await;
        assert!(records(&result).iter().all(|it| it.requested_output_tokens == requested), "{ignore_eos}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_are_logged_with_the_samples_that_they_answer() {
    let accuracy = Settings { mode: Mode::AccuracyOnly, use_token_latencies: true, ..settings(Scenario::SingleStream) };
    let workload = test(accuracy);
    let answers = outcome(&workload, &issue(&workload, &simulated(quick())).await).answers;
    // The queries run one by one, so samples complete in the order of their sequence numbers.
    assert_eq!(answers.iter().map(|it| it.seq_id).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    let mut samples: Vec<u64> = answers.iter().map(|it| it.qsl_idx).collect();
    samples.sort_unstable();
    assert_eq!(samples, (0..20).collect::<Vec<_>>());
    for answer in &answers {
        let first = answer.token_data.as_ref().unwrap();
        assert_eq!((answer.data.len(), first.len(), answer.token_count), (5 * 4, 4, Some(5)));
        assert!(answer.data.starts_with(first));
    }
    // A performance phase logs only the samples that its seeds choose, about 30 of 300.
    let sampled = Settings {
        accuracy_log_probability: 0.1,
        min_query_count: 300,
        min_duration_ms: 0,
        single_stream_expected_latency_ns: 1e9,
        ..settings(Scenario::SingleStream)
    };
    let workload = test(sampled);
    let answers = outcome(&workload, &issue(&workload, &simulated(quick())).await).answers;
    assert!((10..60).contains(&answers.len()), "{}", answers.len());
    assert!(answers.iter().all(|it| it.token_data.is_none() && it.token_count.is_none() && it.data.len() == 20));
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_logged_as_one() {
    let workload = test(Settings { mode: Mode::AccuracyOnly, ..settings(Scenario::Offline) });
    let silent =
        "data: {\"choices\": [{\"index\": 0, \"text\": \"\", \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n";
    let found = outcome(&workload, &issue(&workload, &saying(silent, |_| millis(5))).await);
    assert!(TestVerdict::from_outcome(&found).counts(), "{:?}", found.log.phases);
    assert_eq!(found.answers.len(), 20);
    assert!(found.answers.iter().all(|it| it.data.is_empty()), "{:?}", found.answers);
}
