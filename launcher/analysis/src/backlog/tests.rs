use measurement::recorder::series::OutcomeGroup;

use super::*;
use crate::time_series::BinTimes;

/// One bin per second: requests sent, requests ended, and their median latency in seconds.
fn series(bins: impl IntoIterator<Item = (u64, u64, f64)>) -> SeriesFigures {
    let bin = |(sent, succeeded, latency): (u64, u64, f64)| {
        let mut ended = [0; OutcomeGroup::ALL.len()];
        ended[0] = succeeded;
        let p50 = Duration::from_secs_f64(latency);
        BinFigures {
            due: sent,
            sent,
            ended,
            under_way: 0.0,
            input_tokens: 0,
            output_tokens: 0,
            ttft: None,
            itl: None,
            latency: (succeeded > 0).then_some(BinTimes { count: succeeded, p50, p90: p50, p99: p50 }),
            send_lag: None,
        }
    };
    let bins: Vec<BinFigures> = bins.into_iter().map(bin).collect();
    SeriesFigures {
        bin_width: Duration::from_secs(1),
        start: Duration::ZERO,
        first_event: Duration::ZERO,
        last_event: Duration::from_secs(bins.len() as u64),
        bins,
        itl_heat: None,
    }
}

/// 8 requests/s for a minute, each answered after `latency` seconds; the last answers arrive after that minute.
fn answered_after(latency: u64) -> SeriesFigures {
    let ended = |at: u64| if at >= latency && at < 60 + latency { 8 } else { 0 };
    series((0..60 + latency).map(|at| (if at < 60 { 8 } else { 0 }, ended(at), latency as f64)))
}

#[test]
fn a_server_that_keeps_up_has_no_queue() {
    for latency in [1, 2, 10, 29] {
        assert_eq!(queue(&answered_after(latency)), Queue::Steady, "a latency of {latency} s");
    }
    // No answer arrives in the first half.
    for latency in [40, 59] {
        let unknown = Queue::Unknown { sent: 480, under_way: 8 * latency };
        assert_eq!(queue(&answered_after(latency)), unknown, "a latency of {latency} s");
    }
    // Arrivals in bursts.
    assert_eq!(queue(&series((0..60).map(|at| (if at % 5 == 0 { 40 } else { 0 }, 8, 2.0)))), Queue::Steady);
    // A ramp from 1 to 60 requests/s. Each is answered after a second.
    assert_eq!(queue(&series((0..60).map(|at| (at + 1, at, 1.0)))), Queue::Steady);
}

#[test]
fn a_queue_that_grows_is_found_with_its_numbers() {
    // 8 per second requested, 5 served: a request that ends at t was sent at 5/8 t.
    let found = queue(&series((0..60).map(|at| (8, 5, at as f64 * 3.0 / 8.0))));
    let Queue::Grew(found) = found else { panic!("{found:?}") };
    assert_eq!((found.sent, found.ended, found.under_way), (240, 150, 180));
    // The mean latency of the first half is the latency at 14.5 s.
    assert!((found.by_littles_law - 8.0 * 14.5 * 3.0 / 8.0).abs() < 1e-6, "{found:?}");
}

#[test]
fn a_stall_a_slow_start_and_a_short_stage_are_no_queue() {
    // The server stops for the last five seconds.
    assert_eq!(queue(&series((0..60).map(|at| (8, if at < 55 { 8 } else { 0 }, 1.0)))), Queue::Steady);
    // The server answers nothing for twenty seconds, and then catches up.
    let slow_start = |at: u64| if at < 20 { 0 } else { 12 };
    assert_eq!(queue(&series((0..60).map(|at| (8, slow_start(at), 10.0)))), Queue::Steady);
    assert_eq!(queue(&series((0..7).map(|at| (80, 40, at as f64)))), Queue::Unknown { sent: 0, under_way: 0 });
    // At one request in four seconds, a missing answer may be chance.
    assert_eq!(queue(&series((0..60).map(|at| (u64::from(at % 4 == 0), u64::from(at % 8 == 0), 1.0)))), Queue::Steady);
    assert_eq!(queue(&series([])), Queue::Unknown { sent: 0, under_way: 0 });
}
