//! Tests of stop rules. The server answers within 100 ms during the first 950 ms. After that, each answer exceeds the request timeout of
//! 150 ms.

use std::time::Duration;

use crds::units::Span;
use engine::stop::StopReason;
use measurement::load_result::{LoadResult, RuleEnd};
use workload_profiles::workload::{Hit, HitLimit, Stage, StopRule, StopScope, Workload};

use super::common::*;

const START: Duration = millis(2);

/// A workload that a stop rule ends at the third timeout.
fn third_timeout_ends(scope: StopScope, stages: Vec<Stage>) -> Workload {
    let mut workload = workload(stages, 1);
    let never = StopRule { name: "never".into(), hit: Hit::Status(503), limit: HitLimit::Count(1), scope };
    let third = StopRule { name: "third".into(), hit: Hit::TimedOut, limit: HitLimit::Count(3), scope };
    workload.stop_rules = vec![never, third];
    workload.timeouts.request = Some(Span(millis(150)));
    workload
}

async fn run(workload: &Workload) -> LoadResult {
    issue(workload, &answering(|at| if at < millis(950) { millis(100) } else { millis(10_000) })).await
}

fn counts(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
    pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

/// The expected result if the second rule ended the load this long after its start.
fn ended_at(at: Duration) -> Option<RuleEnd> {
    Some(RuleEnd { rule: 1, at: START + at })
}

#[tokio::test(start_paused = true)]
async fn a_rule_ends_its_stage_and_the_next_one_counts_anew() {
    // Requests 10, 11 and 12 are due from 1,000 ms on, and have timed out by 1,350 ms. Request 13 is in flight then, and may still end.
    let mut next = paced(10.0, 2);
    next.name = "next".into();
    let result = run(&third_timeout_ends(StopScope::Stage, vec![paced(10.0, 50), next])).await;
    assert_eq!(outcomes(&result, 0), counts(&[("ok", 10), ("timeout", 4)]));
    assert_eq!((result.stages[0].ended_by, result.stages[1].ended_by), (ended_at(millis(1_350)), None));
    assert_eq!(outcomes(&result, 1), counts(&[("timeout", 2)]));
    let stopped_early: Vec<bool> = result.recorder.stages.iter().map(|it| it.stopped_early).collect();
    assert_eq!((stopped_early, result.stopped, result.unissued), (vec![true, false], None, 0));
}

#[tokio::test(start_paused = true)]
async fn a_rule_may_end_the_load() {
    let result = run(&third_timeout_ends(StopScope::Load, vec![paced(10.0, 50), closed(1, 9)])).await;
    assert_eq!((result.stopped, result.stages[0].ended_by), (Some(StopReason::StopRule), ended_at(millis(1_350))));
    assert_eq!((outcomes(&result, 0), outcomes(&result, 1)), (counts(&[("ok", 10), ("timeout", 4)]), vec![]));
    assert!(result.recorder.stages.iter().all(|it| it.stopped_early));
}

#[tokio::test(start_paused = true)]
async fn the_grace_of_a_stage_counts_from_its_end_by_a_rule() {
    let mut stage = paced(10.0, 50);
    stage.grace = Some(Span(millis(50)));
    let result = run(&third_timeout_ends(StopScope::Stage, vec![stage])).await;
    assert_eq!(outcomes(&result, 0), counts(&[("ok", 10), ("timeout", 3), ("incomplete", 1)]));
    assert_eq!(result.wall, START + millis(1_400));
}

#[tokio::test(start_paused = true)]
async fn what_was_due_and_waited_for_a_permit_is_incomplete() {
    // With one permit, requests 10, 11 and 12 time out at 1,150, 1,300 and 1,450 ms. By then requests 13 and 14 are due.
    let result = run(&third_timeout_ends(StopScope::Stage, vec![bounded(paced(10.0, 50), 1)])).await;
    assert_eq!(outcomes(&result, 0), counts(&[("ok", 10), ("timeout", 3), ("incomplete", 2)]));
    assert_eq!((result.stages[0].ended_by, result.unissued), (ended_at(millis(1_450)), 0));
}

#[tokio::test(start_paused = true)]
async fn the_slots_of_a_closed_loop_end_with_their_stage() {
    // Two slots send every 100 ms until 900 ms. After that, both time out at 1,150 and at 1,300 ms.
    for mut stage in [closed(2, 500), closed_for(2, millis(60_000), millis(0)), closed(2, 500)] {
        stage.grace = Some(Span(millis(500)));
        let result = run(&third_timeout_ends(StopScope::Stage, vec![stage])).await;
        assert_eq!(outcomes(&result, 0), counts(&[("ok", 20), ("timeout", 4)]));
        assert_eq!((result.stages[0].ended_by, result.wall), (ended_at(millis(1_300)), START + millis(1_300)));
        assert!(result.recorder.stages[0].stopped_early);
    }
}

#[tokio::test(start_paused = true)]
async fn slots_that_wait_to_open_do_not_hold_up_the_end_of_their_stage() {
    // Slot 0 opens immediately, and slot 1 after 30 s. Slot 0 times out at 1,150, 1,300 and 1,450 ms.
    let stage = closed_for(2, millis(90_000), millis(60_000));
    let result = run(&third_timeout_ends(StopScope::Stage, vec![stage])).await;
    assert_eq!(outcomes(&result, 0), counts(&[("ok", 10), ("timeout", 3)]));
    assert_eq!(result.wall, START + millis(1_450));
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_nothing_fulfils_changes_nothing() {
    let result = run(&third_timeout_ends(StopScope::Load, vec![paced(10.0, 9), closed(1, 1)])).await;
    assert_eq!((outcomes(&result, 0), result.stages[0].ended_by), (counts(&[("ok", 9)]), None));
    assert_eq!((result.stopped, result.issued), (None, 10));
}
