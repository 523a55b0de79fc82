//! Tests of what figures include: warm-up, cool-down, windows, and the end of a stage's grace period.

use engine::stop::{Stop, StopReason};
use measurement::{record::RequestOutcome, window::WindowPart};
use workload_profiles::{
    Workload,
    workload::{Margin, Stage, Window},
};

use super::common::*;

/// A stage with one request every 100 ms for 1 s. Each request has 5 tokens, 20 ms apart, and takes 100 ms. The window is from 150 to 750
/// ms.
fn windowed(window: Window) -> Workload {
    let span = |length| Some(Margin::Duration(millis(length).into()));
    let stage = Stage { warm_up: span(150), cool_down: span(250), ..paced(10.0, 10) };
    Workload { window, ..workload(vec![stage], 5) }
}

async fn run(workload: &Workload) -> measurement::load_result::LoadResult {
    issue(workload, &simulated(server(millis(20), millis(20)))).await
}

fn excluded(result: &measurement::load_result::LoadResult, part: WindowPart) -> u64 {
    result.recorder.stages[0].excluded.get(&part).map_or(0, |it| it.values().sum())
}

#[tokio::test(start_paused = true)]
async fn warm_up_and_cool_down_are_sent_and_in_no_figure() {
    let result = run(&windowed(Window::All)).await;
    assert_eq!((records(&result).len(), result.issued), (10, 10));
    // Two requests are due in the warm-up (0 and 100 ms), six in the window (200 to 700 ms), and two in the cool-down (800 and 900 ms).
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 6)]);
    assert_eq!((excluded(&result, WindowPart::WarmUp), excluded(&result, WindowPart::CoolDown)), (2, 2));
    let tally = &result.recorder.stages[0];
    assert_eq!((tally.send_lag.histogram().len(), tally.output_tokens_total), (6, 30));
    assert_eq!(tally.span(), Some((millis(202), millis(802))));
}

#[tokio::test(start_paused = true)]
async fn a_trimmed_window_leaves_out_what_ends_after_it() {
    let result = run(&windowed(Window::Trimmed)).await;
    // The request due at 700 ms ends at 800 ms, after the window.
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 5)]);
    let parts = [WindowPart::WarmUp, WindowPart::Late, WindowPart::CoolDown].map(|part| excluded(&result, part));
    assert_eq!(parts, [2, 1, 2]);
    assert_eq!(result.recorder.stages[0].span(), Some((millis(202), millis(702))));
}

#[tokio::test(start_paused = true)]
async fn a_cut_window_counts_what_happens_within_it() {
    let result = run(&windowed(Window::Cut)).await;
    let tally = &result.recorder.stages[0];
    // The window is from 152 to 752 ms of the run. The request due at 102 ms ends at 202 ms, within the window. So do the requests due at
    // 202 to 602 ms. The request due at 702 ms has not ended.
    assert_eq!(outcomes(&result, 0), [("ok".to_owned(), 6), ("incomplete".to_owned(), 1)]);
    assert_eq!((excluded(&result, WindowPart::WarmUp), excluded(&result, WindowPart::CoolDown)), (1, 2));
    assert_eq!(tally.span(), Some((millis(152), millis(752))));
    // These are the first request's tokens at 162, 182 and 202 ms, 5 tokens of each of the next five, and the last request's tokens at 722 and 742
    // ms.
    assert_eq!((tally.output_tokens_total, tally.output_tokens_of_ended), (3 + 25 + 2, 30));
    // The gaps before these tokens count too, but a first token has no gap before it.
    assert_eq!(tally.itl.histogram().len(), 3 + 5 * 4 + 1);
    // These are the requests that were sent at 202 to 702 ms.
    assert_eq!((tally.send_lag.histogram().len(), tally.latency_sent.histogram().len()), (6, 6));
}

#[tokio::test(start_paused = true)]
async fn a_stage_can_be_a_warm_up_of_its_own() {
    let mut workload = workload(vec![closed(2, 6), paced(10.0, 5)], 5);
    workload.stages[0].warm_up = Some(Margin::All);
    let result = run(&workload).await;
    assert_eq!((outcomes(&result, 0), excluded(&result, WindowPart::WarmUp)), (vec![], 6));
    assert_eq!(outcomes(&result, 1), [("ok".to_owned(), 5)]);
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_when_the_grace_is_over_is_incomplete() {
    // An answer takes 1,000 ms. Slots send at 0 ms. The stage is over at 500 ms, and its grace period ends at 850 ms.
    let slow = || simulated(server(millis(200), millis(200)));
    let mut stage = closed_for(3, millis(500), millis(0));
    stage.grace = Some(millis(350).into());
    let result = issue(&workload(vec![stage], 5), &slow()).await;
    assert_eq!((outcomes(&result, 0), result.stopped), (vec![("incomplete".to_owned(), 3)], None));
    for record in records(&result) {
        assert_eq!((record.ended, record.content_events), (millis(852), 4));
    }
    // In an open loop with one permit, the first request is aborted, and the requests that wait behind it are never sent.
    let mut stage = bounded(paced(10.0, 5), 1);
    stage.grace = Some(millis(300).into());
    let result = issue(&workload(vec![stage], 5), &slow()).await;
    assert_eq!(outcomes(&result, 0), [("incomplete".to_owned(), 5)]);
    assert_eq!((records(&result).len(), result.issued, result.unissued), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_stage_that_would_have_gone_on_is_cut_short_by_a_stop() {
    for (stage, cut) in
        [(closed_for(2, millis(5_000), millis(0)), true), (closed_for(2, millis(500), millis(0)), false)]
    {
        let stop = Stop::default();
        let handle = stop.clone();
        tokio::spawn(async move {
            tokio::time::sleep(millis(1_000)).await;
            handle.drain(StopReason::Signal);
        });
        let target = simulated(server(millis(20), millis(20)));
        let result = issue_until(&workload(vec![stage], 5), &target, &stop).await;
        // Such a load has no fixed number of requests, so no request counts as unissued.
        assert_eq!((result.recorder.stages[0].stopped_early, result.unissued), (cut, 0));
        assert!(all(&result, RequestOutcome::Ok));
    }
}
