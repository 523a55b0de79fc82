//! Tests of Offline in static batches: several samples per request.

use std::time::Duration;

use engine::stop::{Stop, StopReason};
use measurement::{
    load_result::LoadResult,
    record::{RequestOutcome, RequestRecord},
};
use simulator::{SimOptions, faults::FaultKind};
use workload_profiles::{
    Workload,
    loadgen::{Mode, Scenario, Settings},
};

use super::{
    common::*,
    loadgen::{outcome, settings, test},
};

/// An Offline workload of twenty samples that are due together, with `size` samples per request and at most `at_once` requests in flight.
fn batches(mode: Mode, size: Option<u32>, at_once: u32) -> Workload {
    let wanted = Settings {
        mode,
        min_query_count: 20,
        min_duration_ms: 0,
        offline_expected_qps: 1.0,
        ..settings(Scenario::Offline)
    };
    let mut workload = test(wanted);
    workload.streaming = false;
    let loadgen = workload.loadgen.as_mut().unwrap();
    (loadgen.batch_size, loadgen.max_concurrency) = (size, Some(at_once));
    workload
}

/// A server that needs 10 ms per prompt, and 20 ms for each additional token.
fn options() -> SimOptions {
    SimOptions { mean_output_tokens: 12, ..server(millis(30), millis(20)) }
}

fn ended(records: &[RequestRecord]) -> Vec<Duration> {
    let mut ended: Vec<Duration> = records.iter().map(|it| it.ended).collect();
    ended.dedup();
    ended
}

async fn run(workload: &Workload) -> LoadResult {
    issue(workload, &simulated(options())).await
}

#[tokio::test(start_paused = true)]
async fn each_sample_has_a_record_with_the_times_of_its_batch() {
    let result = run(&batches(Mode::PerformanceOnly, Some(8), 1)).await;
    let records = records(&result);
    assert_eq!((records.len(), result.issued, result.unissued), (20, 20, 0));
    // There are three requests, of 8, 8 and 4 samples. Each is sent when the previous one has ended.
    for (batch, samples) in records.chunks(8).enumerate() {
        let first = &samples[0];
        for record in samples {
            assert_eq!((record.outcome, record.scheduled), (RequestOutcome::Ok, records[0].scheduled));
            assert_eq!((record.sent, record.ended, record.last_token), (first.sent, first.ended, first.last_token));
            assert_eq!((record.input_tokens, record.output_tokens, record.first_token), (Some(10), Some(5), None));
            assert_eq!(record.send_lag(), Some(Duration::ZERO));
        }
        if batch > 0 {
            let before = &records[batch * 8 - 1];
            assert!(first.sent.unwrap() >= before.ended && first.permit_wait > before.permit_wait);
        }
    }
    assert_eq!(ended(&records).len(), 3);
    let tally = &result.recorder.stages[0];
    assert_eq!((tally.output_tokens_total, tally.with_usage, tally.set_aside), (100, 20, 0));
    assert_eq!(tally.breakdown.first_byte.histogram().len(), 20);
}

#[tokio::test(start_paused = true)]
async fn several_batches_are_under_way_where_that_is_asked_for() {
    let result = run(&batches(Mode::PerformanceOnly, Some(4), 3)).await;
    let sent: Vec<Duration> = records(&result).iter().map(|it| it.sent.unwrap()).collect();
    let first_wave = sent.iter().filter(|it| **it == sent[0]).count();
    assert_eq!((first_wave, sent.len()), (12, 20));
}

#[tokio::test(start_paused = true)]
async fn answers_are_those_of_requests_of_their_own() {
    let answers = async |size| {
        let mut workload = batches(Mode::AccuracyOnly, size, 4);
        // The model decides the length of each answer.
        workload.sampling.ignore_eos = false;
        workload.requests = workload_profiles::workload::RequestSource::random(
            workload_profiles::workload::LengthDistribution::fixed(10),
            workload_profiles::workload::LengthDistribution::fixed(60),
            workload_profiles::workload::PromptText::Words,
        );
        let result = run(&workload).await;
        assert!(all(&result, RequestOutcome::Ok));
        let mut lengths: Vec<Option<u32>> = records(&result).iter().map(|it| it.output_tokens).collect();
        lengths.dedup();
        assert!(lengths.len() > 5, "{lengths:?}");
        let mut answers = outcome(&workload, &result).answers;
        answers.sort_by_key(|it| it.qsl_idx);
        answers.into_iter().map(|it| (it.qsl_idx, it.data)).collect::<Vec<_>>()
    };
    let alone = answers(None).await;
    assert_eq!(alone.len(), 20);
    assert_eq!(answers(Some(7)).await, alone);
    assert_eq!(answers(Some(1)).await, alone);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_fails_fails_for_each_of_its_samples() {
    let broken = SimOptions { fault: fault(FaultKind::Status(503)), ..options() };
    let result = issue(&batches(Mode::PerformanceOnly, Some(8), 1), &simulated(broken)).await;
    assert_eq!(outcomes(&result, 0), [("http_503".to_owned(), 20)]);
    assert_eq!((result.issued, result.unissued), (20, 0));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_only_the_first_prompt_fails_the_others() {
    let target = saying_json(
        r#"{"choices":[{"index":0,"text":"a b","finish_reason":"stop"}],"usage":{"prompt_tokens":40,"completion_tokens":8}}"#,
    );
    let result = issue(&batches(Mode::PerformanceOnly, Some(4), 5), &target).await;
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 5), ("broken_stream".to_owned(), 15)]);
    let message = result.recorder.stages[0].error_samples.values().next().unwrap();
    assert_eq!(message.as_str(), "the answer has no choice 1, although the request had 4 prompts");
}

#[tokio::test(start_paused = true)]
async fn every_sample_of_a_run_that_is_stopped_is_counted_once() {
    for abort in [false, true] {
        let stop = Stop::default();
        let (workload, target) = (batches(Mode::PerformanceOnly, Some(4), 2), simulated(options()));
        let stopping = async {
            tokio::time::sleep(millis(100)).await;
            if abort { stop.abort(StopReason::Signal) } else { stop.drain(StopReason::Deadline) }
        };
        let (result, ()) = tokio::join!(issue_until(&workload, &target, &stop), stopping);
        let records = records(&result);
        let sent = records.iter().filter(|it| it.sent.is_some()).count();
        assert_eq!((sent, result.issued, result.unissued), (8, 8, 12), "{abort}");
        let expected = if abort { RequestOutcome::Cancelled } else { RequestOutcome::Ok };
        assert!(records.iter().filter(|it| it.sent.is_some()).all(|it| it.outcome == expected), "{records:?}");
        let counted: u64 = outcomes(&result, 0).iter().map(|(_, count)| count).sum();
        assert_eq!(counted, 20, "{abort}");
    }
}
