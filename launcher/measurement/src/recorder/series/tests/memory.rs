//! Tests that the memory of a series is limited, whatever its length.

use super::*;

/// Returns the number of bins and the bytes of a series with this many requests, spread evenly over `length`. As for a real server, TTFT
/// and ITL vary by a factor of up to four.
fn check(requests: u64, length: Duration) -> (usize, usize) {
    let mut series = TimeSeries::of_stage(1, LatencyOrigin::Scheduled);
    let spread = |number: u64, most: u64| Duration::from_micros(number * 7_919 % most);
    for number in 0..requests {
        let due = Duration::from_nanos((length.as_nanos() * u128::from(number) / u128::from(requests)) as u64);
        let first = due + millis(50) + spread(number, 150_000);
        let second = first + millis(5) + spread(number, 15_000);
        let (record, wire) = request(due, &[first, second], 2, RequestOutcome::Ok);
        series.record(&record, &wire);
    }
    let due: u64 = column(&series, |it| it.due).iter().sum();
    assert_eq!(due, requests);
    (series.bins().len(), series.heap_bytes())
}

#[test]
fn a_week_takes_as_much_memory_as_a_minute_and_a_million_requests_as_much_as_a_few() {
    for (requests, length) in [
        (10_000, Duration::from_secs(60)),
        (1_000_000, Duration::from_secs(60)),
        (100_000, Duration::from_secs(7 * 24 * 3_600)),
    ] {
        let (bins, bytes) = check(requests, length);
        assert!((120..=240).contains(&bins), "{bins} bins of {requests} requests in {length:?}");
        assert!(bytes <= 512 << 10, "{bytes} bytes of {requests} requests in {length:?}");
    }
}

#[test]
fn a_bin_has_a_bound() {
    assert!(size_of::<Bin>() <= 256);
    let most_sketches = 4 * 28 * 132;
    assert!(size_of::<Bin>() + most_sketches <= 15 << 10);
}

#[test]
fn many_stages_have_fewer_bins_each() {
    for (stages, most_bins) in [(0, 240), (1, 240), (4, 240), (5, 192), (20, 48), (60, 16), (1_000, 16)] {
        assert_eq!(TimeSeries::of_stage(stages, LatencyOrigin::Sent).most_bins, most_bins, "{stages}");
    }
}
