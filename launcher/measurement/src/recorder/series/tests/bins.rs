//! Tests the bin of each event, with expected values computed by hand.

use super::*;
use crate::recorder::series::QuantileSketch;

use RequestOutcome::{Cancelled, HttpError, Ok, Timeout};

#[test]
fn each_event_lies_in_the_bin_of_its_time() {
    // Bins of 62.5 ms start at 0, 62.5, 125, 187.5 and 250 ms. The request is due at 10 ms and sent at 11 ms, its events arrive at 70, 130,
    // 140 and 260 ms, and it ends at 261 ms.
    let events = [70, 130, 140, 260].map(millis);
    let series = series(240, &[request(millis(10), &events, 8, Ok)]);
    assert_eq!((series.bin_width(), series.start()), (Duration::from_micros(62_500), Duration::ZERO));
    assert_eq!(series.extent(), Some((millis(10), millis(261))));
    assert_eq!(column(&series, |it| it.due), [1, 0, 0, 0, 0]);
    assert_eq!(column(&series, |it| it.sent), [1, 0, 0, 0, 0]);
    assert_eq!(column(&series, |it| it.ended(OutcomeGroup::Ok)), [0, 0, 0, 0, 1]);
    assert_eq!(column(&series, |it| it.input_tokens), [0, 10, 0, 0, 0]);
    // Each event contains two tokens.
    assert_eq!(column(&series, |it| it.output_tokens), [0, 2, 4, 0, 2]);
    assert_eq!(column(&series, |it| it.itl.count()), [0, 0, 2, 0, 1]);
    assert_eq!(column(&series, |it| it.send_lag.count()), [1, 0, 0, 0, 0]);
    assert_eq!(column(&series, |it| it.ttft.count()), [0, 1, 0, 0, 0]);
    assert_eq!(column(&series, |it| it.latency.count()), [0, 0, 0, 0, 1]);
    let under_way: Vec<f64> = series.bins().map(|(_, under_way)| under_way).collect();
    // The request is in flight from 11 ms to 261 ms.
    let expected = [51.5 / 62.5, 1.0, 1.0, 1.0, 11.0 / 62.5];
    assert!(under_way.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{under_way:?}");
}

#[test]
fn latencies_count_from_the_clock_of_the_stage() {
    let (record, wire) = request(millis(100), &[millis(301)], 1, Ok);
    let record = RequestRecord { sent: Some(millis(201)), ..record };
    for (origin, expected) in [(LatencyOrigin::Scheduled, 201e6), (LatencyOrigin::Sent, 100e6)] {
        let mut series = TimeSeries::new(240, origin);
        series.record(&record, &wire);
        let (last, _) = series.bins().last().unwrap();
        for found in [last.ttft.percentile(50), last.latency.percentile(99)] {
            assert!((found.unwrap() / expected - 1.0).abs() < 1.0 / 64.0, "{found:?}");
        }
    }
}

#[test]
fn gaps_of_several_tokens_are_divided_as_in_the_figures() {
    // The first event contains one token, and each later event three. A gap of 30 ms therefore counts as three times 10 ms.
    let events = [100, 130, 160, 190].map(millis);
    let series = series(2, &[request(millis(0), &events, 10, Ok)]);
    let mut itl = QuantileSketch::default();
    series.bins().for_each(|(bin, _)| itl.add(&bin.itl));
    assert_eq!(itl.count(), 3);
    assert!((itl.percentile(99).unwrap() / 10e6 - 1.0).abs() < 1.0 / 64.0);
}

#[test]
fn tokens_of_requests_that_failed_count_and_their_latencies_do_not() {
    let events = [10, 20].map(millis);
    let series = series(240, &[request(millis(0), &events, 2, Timeout), request(millis(0), &[], 0, HttpError(503))]);
    let (bin, under_way) = series.bins().next().unwrap();
    assert_eq!((bin.due, bin.sent, bin.input_tokens, bin.output_tokens), (2, 2, 10, 2));
    assert_eq!((bin.ended(OutcomeGroup::Timeout), bin.ended(OutcomeGroup::Http5xx)), (1, 1));
    assert_eq!((bin.ttft.count(), bin.itl.count(), bin.latency.count(), bin.send_lag.count()), (0, 0, 0, 2));
    // One request is in flight from 1 to 21 ms, and the other from 1 to 2 ms.
    assert!((under_way - 21.0 / 62.5).abs() < 1e-12, "{under_way}");
}

#[test]
fn what_was_never_sent_is_due_and_never_under_way() {
    let (record, wire) = request(millis(0), &[], 0, Cancelled);
    let mut series = series(240, &[(RequestRecord { sent: None, ..record }, wire)]);
    series.record_unissued(millis(70));
    assert_eq!(column(&series, |it| it.due), [1, 1]);
    assert_eq!(column(&series, |it| it.sent), [0, 0]);
    assert_eq!(column(&series, |it| it.ended(OutcomeGroup::Cancelled)), [1, 0]);
    assert!(series.bins().all(|(_, under_way)| under_way == 0.0));
}

#[test]
fn bins_begin_with_the_first_event_and_double_when_there_are_too_many() {
    let at = |secs: u64| request(Duration::from_secs(secs), &[], 0, Ok);
    let mut series = series(4, &[at(1_000)]);
    assert_eq!((series.bins().len(), series.start()), (1, Duration::from_secs(1_000)));
    // 1,000 s and 1,003 s fit into four bins of 1 s. Adding 1,004 s needs bins of 2 s, of which there are three.
    series.record(&at(1_003).0, &WireTally::default());
    assert_eq!((series.bins().len(), series.bin_width()), (4, Duration::from_secs(1)));
    series.record(&at(1_004).0, &WireTally::default());
    assert_eq!((series.bins().len(), series.bin_width()), (3, Duration::from_secs(2)));
    assert_eq!(column(&series, |it| it.due), [1, 1, 1]);
    // An event before the first bin adds a bin at the front.
    series.record(&at(999).0, &WireTally::default());
    assert_eq!((series.bins().len(), series.start()), (4, Duration::from_secs(998)));
    assert_eq!(column(&series, |it| it.due), [1, 1, 1, 1]);
}

#[test]
fn the_latest_times_that_there_are_have_a_bin() {
    let (record, wire) = request(millis(0), &[], 0, Cancelled);
    let for_ever = RequestRecord { ended: Duration::MAX, ..record };
    let series = series(2, &[(for_ever, wire)]);
    assert_eq!(series.bins().len(), 2);
    let ended: u64 = column(&series, |it| it.ended(OutcomeGroup::Cancelled)).iter().sum();
    assert_eq!((ended, series.extent()), (1, Some((Duration::ZERO, Duration::from_nanos(u64::MAX)))));
}

#[test]
fn statuses_have_three_groups() {
    let groups = [301, 400, 429, 499, 500, 503, 599, 600].map(|it| OutcomeGroup::from_outcome(HttpError(it)).name());
    let [client, server] = ["http_4xx", "http_5xx"];
    assert_eq!(groups, ["http_other", client, client, client, server, server, server, "http_other"]);
    for (place, group) in OutcomeGroup::ALL.into_iter().enumerate() {
        assert_eq!(group as usize, place, "{}", group.name());
    }
}
