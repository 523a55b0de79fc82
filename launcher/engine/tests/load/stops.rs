//! Tests of everything that ends a load early.

use std::time::Duration;

use engine::stop::{Stop, StopReason};
use measurement::{record::RequestOutcome, window::WindowPart};
use simulator::{SimOptions, faults::FaultKind};
use workload_profiles::workload::Margin;

use super::common::*;

/// Calls `end` on `stop` after this time.
fn after(length: Duration, stop: &Stop, end: fn(&Stop)) {
    let stop = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(length).await;
        end(&stop);
    });
}

#[tokio::test(start_paused = true)]
async fn draining_lets_answers_end_and_counts_what_was_due_until_then() {
    let stop = Stop::default();
    after(millis(1_000), &stop, |it| it.drain(StopReason::Signal));
    let target = simulated(server(millis(500), millis(20)));
    let result = issue_until(&workload(vec![open(20.0, 2), closed(4, 7)], 5), &target, &stop).await;
    assert_eq!(result.stopped, Some(StopReason::Signal));
    assert!((10..30).contains(&result.issued), "{}", result.issued);
    assert!(all(&result, RequestOutcome::Ok));
    // All requests that were due were sent. The second half of the first stage, and the stage that was not reached, were not due yet.
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), result.issued)]);
    assert_eq!((outcomes(&result, 1), result.unissued), (vec![], 0));
    assert!(result.recorder.stages.iter().all(|it| it.stopped_early), "the figures are of a part");
    assert!(records(&result).iter().all(|it| it.sent.unwrap() <= millis(1_001)));
}

#[tokio::test(start_paused = true)]
async fn what_was_due_and_waited_for_a_place_is_cancelled_by_a_stop() {
    // A request is due every 100 ms and takes 5 s, and one may be in flight. At the stop, the first one is in flight and nine wait.
    let stop = Stop::default();
    after(millis(950), &stop, |it| it.drain(StopReason::Signal));
    let target = simulated(server(millis(5_000), millis(0)));
    let result = issue_until(&workload(vec![bounded(paced(10.0, 50), 1)], 1), &target, &stop).await;
    assert_eq!((result.issued, result.unissued), (1, 9));
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 1), ("cancelled".to_owned(), 9)]);
    assert!(result.recorder.stages[0].stopped_early);
}

#[tokio::test(start_paused = true)]
async fn what_a_stop_in_the_warm_up_leaves_unsent_is_counted_where_it_belongs() {
    for mut stage in [open(20.0, 2), closed(1, 40)] {
        (stage.warm_up, stage.cool_down) = (Some(Margin::Count(20)), Some(Margin::Count(10)));
        let stop = Stop::default();
        after(millis(300), &stop, |it| it.drain(StopReason::Signal));
        let result = issue_until(&workload(vec![stage], 5), &simulated(server(millis(40), millis(1))), &stop).await;
        let aside = &result.recorder.stages[0].excluded;
        let warm_up: u64 = aside[&WindowPart::WarmUp].values().sum();
        assert!(warm_up > 0 && warm_up < 20 && warm_up == result.issued + result.unissued, "{aside:?}");
        assert!(!aside.contains_key(&WindowPart::CoolDown) && outcomes(&result, 0).is_empty(), "{aside:?}");
        assert!(result.recorder.stages[0].stopped_early);
    }
}

#[tokio::test(start_paused = true)]
async fn aborting_ends_what_is_in_flight() {
    for stage in [open(20.0, 2), closed(10, 40)] {
        let stop = Stop::default();
        after(millis(1_000), &stop, |it| it.abort(StopReason::Deadline));
        let target = simulated(server(millis(700), millis(700)));
        let result = issue_until(&workload(vec![stage], 5), &target, &stop).await;
        assert_eq!(result.stopped, Some(StopReason::Deadline));
        assert!(result.issued >= 10 && result.issued + result.unissued < 40);
        assert_eq!(outcomes(&result, 0), [("cancelled".to_owned(), result.issued + result.unissued)]);
        let records = records(&result);
        assert_eq!(records.len() as u64, result.issued);
        // The tolerance of 1 ms is needed because the run's clock started slightly before the test's clock.
        assert!(records.iter().all(|it| it.sent.is_some() && it.ended >= millis(1_000) && it.ended <= millis(1_001)));
        assert!(records.iter().any(|it| it.first_token.is_some()), "some had begun to answer");
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_word_aborts_what_the_first_lets_drain() {
    let stop = Stop::default();
    after(millis(300), &stop, |it| it.drain(StopReason::Signal));
    after(millis(900), &stop, |it| it.abort(StopReason::Deadline));
    let options = SimOptions { fault: fault(FaultKind::Hang), ..server(millis(100), millis(20)) };
    let result = issue_until(&workload(vec![closed(2, 10)], 5), &simulated(options), &stop).await;
    assert_eq!((result.stopped, result.issued, result.unissued), (Some(StopReason::Signal), 2, 0));
    assert!(records(&result).iter().all(|it| it.outcome == RequestOutcome::Cancelled && it.ended >= millis(900)));
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_not_waited_for() {
    for next in [open(1.0, 2), closed(2, 2)] {
        let stop = Stop::default();
        after(millis(2_000), &stop, |it| it.drain(StopReason::Signal));
        let mut stages = vec![closed(1, 1), next];
        stages[0].pause_after.0 = Duration::from_secs(86_400);
        let result = issue_until(&workload(stages, 2), &simulated(server(millis(20), millis(20))), &stop).await;
        assert_eq!((result.issued, result.unissued), (1, 0));
        assert!(result.wall < millis(2_010), "{:?}", result.wall);
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_that_fails_every_request_is_lost_after_thirty_seconds() {
    let options = SimOptions { fault: fault(FaultKind::Status(500)), ..server(millis(100), millis(20)) };
    let result = issue(&workload(vec![open(5.0, 100)], 5), &simulated(options)).await;
    assert_eq!(result.stopped, Some(StopReason::TargetLost));
    let records = records(&result);
    let (first, last) = (records[0].ended, records[records.len() - 1].ended);
    assert!(last - first >= Duration::from_secs(30) && last - first < Duration::from_secs(35), "{:?}", last - first);
    assert!(result.issued < 250 && result.unissued <= 1, "{} {}", result.issued, result.unissued);
    assert_eq!(outcomes(&result, 0)[0], ("http_500".to_owned(), result.issued));
}

#[tokio::test(start_paused = true)]
async fn a_target_that_answers_now_and_then_is_not_lost() {
    let mut options = server(millis(100), millis(20));
    options.fault = Some(simulator::faults::Fault { kind: FaultKind::Status(500), ratio: 0.9 });
    let result = issue(&workload(vec![open(5.0, 100)], 5), &simulated(options)).await;
    assert_eq!((result.stopped, result.issued), (None, 500));
}

#[tokio::test(start_paused = true)]
async fn a_target_that_begins_to_answer_is_not_lost_and_one_that_never_does_is() {
    for (fault, stopped) in [(None, None), (fault(FaultKind::Hang), Some(StopReason::TargetLost))] {
        // An answer takes half a minute, but one request per second exceeds its timeout.
        let options = SimOptions { fault, ..server(millis(300), millis(300)) };
        let mut workload = workload(vec![open(1.0, 60)], 100);
        workload.timeouts.request = Some(crds::units::Span(Duration::from_secs(5)));
        let result = issue(&workload, &simulated(options)).await;
        assert_eq!(result.stopped, stopped);
        assert!(result.recorder.stages[0].outcomes.contains_key(&RequestOutcome::Timeout));
        assert_eq!(result.recorder.stages[0].succeeded(), 0);
    }
}
