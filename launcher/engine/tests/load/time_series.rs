//! Tests of the time series of whole loads.

use std::time::Duration;

use crds::units::{RequestRate, Span};
use measurement::{
    load_result::LoadResult,
    recorder::{
        TimeSeries,
        series::{Bin, OutcomeGroup},
    },
};
use workload_profiles::workload::{Margin, Probes};

use super::common::*;

/// Returns a column of a stage's time series, one value per bin.
fn column<T>(series: &TimeSeries, of_bin: impl Fn(&Bin) -> T) -> Vec<T> {
    series.bins().map(|(bin, _)| of_bin(bin)).collect()
}

fn total(result: &LoadResult, of_bin: impl Fn(&Bin) -> u64) -> u64 {
    result.recorder.series.iter().flat_map(|it| column(it, &of_bin)).sum()
}

/// Returns the time that requests were in flight, summed over all requests: according to the time series, and according to the records.
fn time_under_way(result: &LoadResult, stage: usize) -> (Duration, Duration) {
    let series = &result.recorder.series[stage];
    let mean: f64 = series.bins().map(|(_, under_way)| under_way).sum();
    let records = records(result).into_iter().filter(|it| it.stage as usize == stage);
    let sum = records.filter_map(|it| it.ended.checked_sub(it.sent?)).sum();
    (series.bin_width().mul_f64(mean), sum)
}

#[tokio::test(start_paused = true)]
async fn a_constant_rate_has_the_same_requests_in_each_bin() {
    // 16 requests/s for 10 s, one every 62.5 ms from 2 ms on, so that each bin contains exactly one.
    let result = issue(&workload(vec![paced(16.0, 160)], 5), &simulated(server(millis(100), millis(20)))).await;
    let series = &result.recorder.series[0];
    assert_eq!((series.bin_width(), series.start()), (Duration::from_micros(62_500), Duration::ZERO));
    let due = column(series, |it| it.due);
    assert!(due[..160].iter().all(|it| *it == 1) && due[160..].iter().all(|it| *it == 0), "{due:?}");
    assert_eq!(total(&result, |it| it.sent), 160);
    assert_eq!(total(&result, |it| it.ended(OutcomeGroup::Ok)), 160);
    assert_eq!(total(&result, |it| it.output_tokens), result.recorder.stages[0].output_tokens_total);
    assert_eq!(total(&result, |it| it.input_tokens), result.recorder.stages[0].input_tokens_total);
    assert_eq!(total(&result, |it| it.itl.count()), 4 * 160);
    let (by_series, by_records) = time_under_way(&result, 0);
    assert!(by_series.abs_diff(by_records) < Duration::from_micros(1), "{by_series:?} and not {by_records:?}");
    let first = records(&result)[0].scheduled;
    assert_eq!(series.extent().map(|(from, _)| from), Some(first));
}

#[tokio::test(start_paused = true)]
async fn a_closed_loop_holds_its_concurrency_in_each_bin() {
    // A step takes 25 ms for all sequences. Five tokens, and thus each request, take 125 ms, which are two bins.
    let result = issue(&workload(vec![closed(4, 80)], 5), &simulated(server(millis(25), millis(25)))).await;
    let series = &result.recorder.series[0];
    let under_way: Vec<f64> = series.bins().map(|(_, under_way)| under_way).collect();
    let inside = &under_way[1..under_way.len() - 1];
    assert!(inside.len() > 30 && inside.iter().all(|it| (it - 4.0).abs() < 1e-9), "{under_way:?}");
    let (by_series, by_records) = time_under_way(&result, 0);
    assert!(by_series.abs_diff(by_records) < Duration::from_micros(1), "{by_series:?} and not {by_records:?}");
    // TTFT and latency count from the send time, like the headline figures of a closed loop. They are exactly the server's times, within the error of
    // a sketch.
    for (bin, _) in series.bins() {
        for (found, expected) in [(bin.ttft.percentile(50), 25e6), (bin.latency.percentile(99), 125e6)] {
            assert!(found.is_none_or(|it| (it / expected - 1.0).abs() < 1.0 / 64.0), "{found:?} and not {expected}");
        }
    }
    assert_eq!((total(&result, |it| it.ttft.count()), total(&result, |it| it.latency.count())), (80, 80));
}

#[tokio::test(start_paused = true)]
async fn the_warm_up_is_in_the_series_and_probes_are_not() {
    let mut stage = paced(10.0, 50);
    stage.warm_up = Some(Margin::Count(20));
    let mut workload = workload(vec![stage, closed(2, 6)], 3);
    workload.probes = Some(Probes { rate: RequestRate::try_from(5.0).unwrap(), input: 1, output: 1 });
    let result = issue(&workload, &simulated(server(millis(100), millis(20)))).await;
    let due = |stage: usize| column(&result.recorder.series[stage], |it| it.due).iter().sum::<u64>();
    assert_eq!((result.recorder.stages[0].requests(), due(0), due(1)), (30, 50, 6));
    assert!(result.recorder.probes[0].requests() > 10);
    // The series of the second stage starts where the first stage ends.
    let (first, second) = (&result.recorder.series[0], &result.recorder.series[1]);
    assert!(second.start() > first.start() + Duration::from_secs(4), "{:?}", second.start());
    let run = TimeSeries::sum(&result.recorder.series);
    assert_eq!(column(&run, |it| it.due).iter().sum::<u64>(), 56);
}

#[tokio::test(start_paused = true)]
async fn requests_that_got_no_permit_are_due_at_their_time() {
    // One request may be in flight, and takes longer than the stage. Of the ten requests in one second, one is sent. The stage ends without the
    // others.
    let mut stage = bounded(paced(10.0, 10), 1);
    stage.grace = Some(Span(Duration::ZERO));
    let result = issue(&workload(vec![stage], 1), &simulated(server(Duration::from_secs(5), millis(20)))).await;
    let series = &result.recorder.series[0];
    assert_eq!((total(&result, |it| it.due), total(&result, |it| it.sent)), (10, 1));
    // The requests are due at 2, 102, 202 ms and so on. Bins are 62.5 ms wide.
    let bins = (0..10).map(|it| (2_000 + 100_000 * it) / 62_500);
    let due = column(series, |it| it.due);
    assert!(bins.into_iter().all(|it: usize| due[it] == 1), "{due:?}");
}
