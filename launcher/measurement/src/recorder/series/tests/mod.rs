mod bins;
mod memory;
mod sketch;
mod sums;

use std::time::Duration;

use super::{Bin, OutcomeGroup, TimeSeries};
use crate::{
    inter_token_times::InterTokenTimes,
    latency_origin::LatencyOrigin,
    record::{RequestOutcome, RequestRecord},
    recorder::WireTally,
};

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Returns a request with 10 prompt tokens that is sent 1 ms after it is due. `events` are the times at which its content arrives. The request ends 1
/// ms after its last event, or, without events, 1 ms after it was sent.
fn request(due: Duration, events: &[Duration], tokens: u32, outcome: RequestOutcome) -> (RequestRecord, WireTally) {
    let sent = due + millis(1);
    let (first, last) = (events.first().copied(), events.last().copied());
    let record = RequestRecord {
        stage: 0,
        number: 0,
        turn: None,
        scheduled: due,
        sent: Some(sent),
        permit_wait: None,
        first_token: first,
        last_token: last,
        ended: last.unwrap_or(sent) + millis(1),
        outcome,
        requested_input_tokens: None,
        requested_output_tokens: None,
        input_tokens: first.map(|_| 10),
        cached_tokens: None,
        class: None,
        output_tokens: first.map(|_| tokens),
        content_events: events.len() as u32,
        replica: None,
    };
    let gaps: InterTokenTimes = events.windows(2).map(|it| it[1] - it[0]).collect();
    (record, WireTally { gaps, ..WireTally::default() })
}

/// Returns the series of these requests, with at most this many bins.
fn series(most_bins: usize, requests: &[(RequestRecord, WireTally)]) -> TimeSeries {
    let mut series = TimeSeries::new(most_bins, LatencyOrigin::Scheduled);
    requests.iter().for_each(|(record, wire)| series.record(record, wire));
    series
}

/// Returns the values of a column, one per bin.
fn column<T>(series: &TimeSeries, of_bin: impl Fn(&Bin) -> T) -> Vec<T> {
    series.bins().map(|(bin, _)| of_bin(bin)).collect()
}
