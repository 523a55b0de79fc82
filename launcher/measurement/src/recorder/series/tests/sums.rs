//! Tests that series do not depend on the order of requests, on the number of recorders, or on earlier widths of the bins.

use proptest::prelude::*;

use super::*;

/// Generates requests whose times are within the first hours of a run, or within one second, with equal probability.
fn requests(most: usize) -> impl Strategy<Value = Vec<(RequestRecord, WireTally)>> {
    let nanos = (prop::bool::ANY, any::<u64>()).prop_map(|(is_long, draw)| {
        let most = if is_long { 20_000_000_000_000 } else { 1_000_000_000 };
        Duration::from_nanos(draw % most)
    });
    let gaps = prop::collection::vec(0_u64..400_000_000, 0..20);
    let outcome = prop::sample::select(vec![
        RequestOutcome::Ok,
        RequestOutcome::Ok,
        RequestOutcome::Timeout,
        RequestOutcome::HttpError(429),
        RequestOutcome::Incomplete,
    ]);
    let one = (nanos, 0_u64..5_000_000_000, gaps, 0_u32..100, outcome, prop::bool::ANY);
    let one = one.prop_map(|(due, ttft, gaps, tokens, outcome, is_sent)| {
        // Gaps are stored in units of 10 ns.
        let gaps = gaps.into_iter().map(|it| Duration::from_nanos(it / 10 * 10));
        let mut at = due + millis(1) + Duration::from_nanos(ttft);
        let mut events = vec![at];
        for gap in gaps {
            at += gap;
            events.push(at);
        }
        if is_sent {
            return request(due, &events, tokens, outcome);
        }
        let (record, wire) = request(due, &[], 0, RequestOutcome::ConnectError);
        (RequestRecord { sent: None, ..record }, wire)
    });
    prop::collection::vec(one, 1..most)
}

/// Returns how much of the time from `begin` to `end` is within a bin.
fn within(series: &TimeSeries, bin: usize, begin: Duration, end: Duration) -> Duration {
    let from = series.start() + series.bin_width() * bin as u32;
    let (from, to) = (from.max(begin), (from + series.bin_width()).min(end));
    to.saturating_sub(from)
}

proptest! {
    #[test]
    fn any_recorders_in_any_order_make_the_same_series(
        all in requests(40),
        recorders in 1_usize..5,
        draws in prop::collection::vec(any::<u32>(), 40),
        most_bins in 2_usize..50,
    ) {
        let expected = series(most_bins, &all);
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|it| draws[*it]);
        let mut parts = vec![TimeSeries::new(most_bins, LatencyOrigin::Scheduled); recorders];
        for it in order {
            let (record, wire) = &all[it];
            parts[draws[it] as usize % recorders].record(record, wire);
        }
        let mut sum = TimeSeries::new(most_bins, LatencyOrigin::Scheduled);
        parts.iter().rev().for_each(|it| sum.add(it));
        prop_assert_eq!(sum, expected);
    }

    #[test]
    fn a_fine_series_made_coarse_is_the_coarse_one(all in requests(30), few in 2_usize..30) {
        let mut coarse = TimeSeries::new(few, LatencyOrigin::Scheduled);
        coarse.add(&series(1_000, &all));
        prop_assert_eq!(coarse, series(few, &all));
    }

    #[test]
    fn the_time_under_way_of_a_bin_is_that_of_its_requests(all in requests(30), most_bins in 2_usize..40) {
        let series = series(most_bins, &all);
        for (place, (_, time)) in series.times_under_way().enumerate() {
            let spans = all.iter().filter_map(|(record, _)| Some((record.sent?, record.ended)));
            let expected: Duration = spans.map(|(sent, ended)| within(&series, place, sent, ended)).sum();
            prop_assert_eq!(time, expected.as_nanos() as i128);
        }
    }

    #[test]
    fn every_request_and_every_token_is_in_exactly_one_bin(all in requests(30), most_bins in 2_usize..40) {
        let series = series(most_bins, &all);
        let sum = |of_bin: fn(&Bin) -> u64| column(&series, of_bin).iter().sum::<u64>();
        let expected = |of: fn(&RequestRecord) -> u64| all.iter().map(|(record, _)| of(record)).sum::<u64>();
        prop_assert_eq!(sum(|it| it.due), all.len() as u64);
        prop_assert_eq!(sum(|it| it.sent), expected(|it| u64::from(it.sent.is_some())));
        prop_assert_eq!(sum(|it| OutcomeGroup::ALL.map(|group| it.ended(group)).iter().sum()), all.len() as u64);
        prop_assert_eq!(sum(|it| it.output_tokens), expected(|it| it.output_tokens.unwrap_or_default().into()));
        prop_assert_eq!(sum(|it| it.input_tokens), expected(|it| it.input_tokens.unwrap_or_default().into()));
        prop_assert_eq!(sum(|it| it.latency.count()), expected(|it| it.outcome.is_success().into()));
    }
}

#[test]
fn stages_of_other_lengths_make_the_series_of_the_run() {
    let at = |secs: u64| request(Duration::from_secs(secs), &[], 0, RequestOutcome::Ok);
    let (short, long) = (series(240, &[at(5), at(6)]), series(240, &[at(60), at(600), at(900)]));
    assert_eq!((short.bin_width(), long.bin_width()), (Duration::from_micros(62_500), Duration::from_secs(4)));
    let run = TimeSeries::sum([&short, &long, &TimeSeries::of_stage(2, LatencyOrigin::Sent)]);
    assert_eq!((run.bin_width(), run.start(), run.bins().len()), (Duration::from_secs(4), Duration::from_secs(4), 225));
    assert_eq!(column(&run, |it| it.due).iter().sum::<u64>(), 5);
    assert_eq!(run, series(240, &[at(900), at(6), at(60), at(5), at(600)]));
}
