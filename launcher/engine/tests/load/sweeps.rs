//! Tests of stages whose rate earlier stages determine. The server answers each request with one token after 100 ms.

use std::time::Duration;

use crds::units::Span;
use engine::stop::{Stop, StopReason};
use measurement::{
    load_result::{LoadResult, NotMeasured},
    window::WindowPart,
};
use workload_profiles::workload::{
    Arrivals, Load, Margin, MeasuredRate, Rate, RateBound, RateShape, Spacing, Stage, Workload,
};

use super::common::*;

const TOOK: Duration = millis(100);

fn fixed(rate: f64) -> RateBound {
    RateBound::Rate(rate.try_into().unwrap())
}

/// A stage with even arrivals for two seconds. Its rate is at `position` between two bounds.
fn measured(name: &str, from: RateBound, to: RateBound, position: f64) -> Stage {
    let rate = MeasuredRate { from, to, position, spacing: Spacing::Linear };
    let load = Load::Open {
        arrivals: Arrivals::Constant,
        rate: Rate::Varying(RateShape::Measured(rate)),
        duration: Some(Span(millis(2_000))),
        count: None,
        max_concurrency: None,
    };
    Stage::new(name, load)
}

fn rates(result: &LoadResult) -> Vec<Option<f64>> {
    let rate = |it: &measurement::load_result::StageResult| it.measured_rate.clone()?.ok().map(|it| it.per_second());
    result.stages.iter().map(rate).collect()
}

/// Returns the number of requests of each stage.
fn requests(result: &LoadResult) -> Vec<u64> {
    result.recorder.stages.iter().map(|it| it.requests()).collect()
}

async fn run(stages: Vec<Stage>) -> LoadResult {
    issue(&workload(stages, 1), &answering(|_| TOOK)).await
}

#[tokio::test(start_paused = true)]
async fn a_sweep_lies_between_one_request_at_a_time_and_as_many_as_possible() {
    // The first stage sends one request at a time: 20 in 2 s, which is 10 per second. The second sends 40 together with 5 permits: 8 waves
    // of 100 ms, which is 50 per second.
    let burst = bounded(Stage::new("throughput", Load::Burst { count: 40, max_concurrency: None }), 5);
    let (from, to) = (RateBound::Throughput(0), RateBound::Throughput(1));
    let sweep = |it: u32| measured(&format!("sweep-{it}"), from, to, f64::from(it) / 4.0);
    let stages = [closed(1, 20), burst].into_iter().chain((1..=4).map(sweep)).collect();
    let result = run(stages).await;
    assert_eq!(rates(&result), [None, None, Some(20.0), Some(30.0), Some(40.0), Some(50.0)]);
    assert_eq!(requests(&result), [20, 40, 40, 60, 80, 100]);
    let records = records(&result);
    let last: Vec<_> = records.iter().filter(|it| it.stage == 5).map(|it| it.scheduled).collect();
    assert!(last.windows(2).all(|it| it[1] - it[0] == millis(20)), "{last:?}");
    assert_eq!((result.stopped, result.issued), (None, 340));
}

fn not_measured(result: &LoadResult, stage: usize) -> NotMeasured {
    result.stages[stage].measured_rate.clone().unwrap().unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn the_drain_of_a_stage_gives_a_rate() {
    // 100 requests are sent within 2 s, and each is answered after 3.01 s. From 3 s on, 25 of them end in each half second, which is 50 per
    // second. The last one ends at 4.99 s, so three falls are observed.
    let drain = RateBound::Drain { stage: 0, percentile: 95.0 };
    let mut towards_end = measured("towards-end", fixed(1.0), drain, 0.5);
    if let Load::Open { rate: Rate::Varying(RateShape::Measured(rate)), .. } = &mut towards_end.load {
        rate.spacing = Spacing::TowardsEnd;
    }
    let stages = vec![paced(50.0, 100), measured("half", fixed(1.0), drain, 0.5), towards_end];
    let result = issue(&workload(stages, 1), &answering(|_| millis(3_010))).await;
    // 51 - 50 x (1 / 50) ^ 0.5 is 43.93.
    assert_eq!(rates(&result), [None, Some(25.5), Some(43.93)]);
    assert_eq!(requests(&result), [100, 51, 88]);
}

#[tokio::test(start_paused = true)]
async fn a_stage_whose_rate_cannot_be_measured_is_not_run_and_the_next_one_is() {
    let (throughput, drain) = (RateBound::Throughput(0), RateBound::Drain { stage: 0, percentile: 95.0 });
    let stages = vec![
        closed(2, 4),
        measured("no-falls", fixed(1.0), drain, 0.5),
        measured("second-hand", fixed(1.0), RateBound::Throughput(1), 0.5),
        measured("known", throughput, throughput, 0.0),
    ];
    let result = run(stages.clone()).await;
    assert_eq!(not_measured(&result, 1), NotMeasured::TooFewFalls { stage: "c2".into(), falls: 0 });
    assert_eq!(not_measured(&result, 2), NotMeasured::NotRun { stage: "no-falls".into() });
    // Two requests at a time yield 20 per second.
    assert_eq!((rates(&result)[3], requests(&result)), (Some(20.0), vec![4, 0, 0, 40]));
    assert!(result.stopped.is_none() && result.recorder.stages.iter().all(|it| !it.stopped_early));

    let refusing = issue(&workload(stages, 1), &saying("data: {\"error\":{\"message\":\"no\"}}\n\n", |_| TOOK)).await;
    assert_eq!(not_measured(&refusing, 3), NotMeasured::NoSuccess { stage: "c2".into() });
}

#[tokio::test(start_paused = true)]
async fn margins_count_in_the_times_that_are_drawn() {
    let mut stage = measured("sweep", RateBound::Throughput(0), RateBound::Throughput(0), 0.0);
    stage.warm_up = Some(Margin::Duration(Span(millis(500))));
    stage.cool_down = Some(Margin::Count(4));
    // One request at a time yields 10 per second, here for 2 s. 5 requests are due before 0.5 s, and the last 4 from 1.6 s on.
    let result = run(vec![closed(1, 10), stage]).await;
    let tally = &result.recorder.stages[1];
    let excluded = |part| tally.excluded.get(&part).map_or(0, |it| it.values().sum::<u64>());
    assert_eq!((excluded(WindowPart::WarmUp), excluded(WindowPart::CoolDown), tally.requests()), (5, 4, 11));
}

#[tokio::test(start_paused = true)]
async fn a_stop_before_a_measured_stage_leaves_it_out() {
    let stop = Stop::default();
    let (end, at) = (stop.clone(), millis(250));
    tokio::spawn(async move {
        tokio::time::sleep(at).await;
        end.drain(StopReason::Signal);
    });
    let throughput = RateBound::Throughput(0);
    let workload: Workload = workload(vec![closed(1, 10), measured("sweep", throughput, throughput, 0.0)], 1);
    let result = issue_until(&workload, &answering(|_| TOOK), &stop).await;
    assert_eq!((requests(&result), result.stopped), (vec![3, 0], Some(StopReason::Signal)));
    assert!(result.recorder.stages[1].stopped_early);
}
