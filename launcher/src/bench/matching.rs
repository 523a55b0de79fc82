//! What a client saw against what the server did, request by request and token by token. Pure.

use std::{collections::HashMap, time::Duration};

use super::{
    parts::ClientRequest,
    server::{RequestTruth, Truth},
};
use crate::histogram::Times;

/// How far a client is from the truth.
#[derive(Clone, Debug, Default)]
pub(super) struct Matched {
    /// Requests that both sides know.
    pub(super) requests: u64,
    /// Requests, or tokens of one, that only one side knows: a fault of this bench or of the client.
    pub(super) unmatched: u64,
    /// Tokens of the requests that both sides know.
    pub(super) tokens: u64,
    /// First token seen - first token sent.
    pub(super) ttft_error: Times,
    /// Last token seen - last token sent.
    pub(super) latency_error: Times,
    /// |gap seen - gap sent|, for each pair of tokens in a row.
    pub(super) itl_error: Times,
    /// Sent - scheduled, both by the client.
    pub(super) lag: Times,
    /// Arrived - scheduled: what a request was late at the server.
    pub(super) arrival_lag: Times,
    /// The first and the last time at which a request was due.
    pub(super) scheduled: Option<(u64, u64)>,
    /// The first and the last time at which a request was sent.
    pub(super) sent: Option<(u64, u64)>,
    /// The first and the last arrival.
    pub(super) arrived: Option<(u64, u64)>,
    /// The last token that was seen.
    pub(super) last_seen: u64,
}

impl Matched {
    /// Matches requests by stage and number.
    pub(super) fn of(seen: &[ClientRequest], truth: &Truth) -> Matched {
        let mut known: HashMap<(u32, u64), &RequestTruth> = HashMap::with_capacity(truth.requests.len());
        let mut matched = Matched::default();
        for request in &truth.requests {
            // A request that came twice is one that the client does not know of.
            let twice = known.insert((request.stage, request.number), request).is_some();
            matched.unmatched += u64::from(twice);
        }
        for request in seen {
            match known.remove(&(request.stage, request.number)) {
                Some(truth) => matched.add(request, truth),
                None => matched.unmatched += 1,
            }
        }
        matched.unmatched += known.len() as u64;
        matched
    }

    /// Share of the asked rate at which requests arrived: the time in which they were due, of that until the last one was
    /// there.
    pub(super) fn achieved(&self) -> Option<f64> {
        let ((first, _), (_, last)) = (self.scheduled?, self.arrived?);
        let took = seconds(Some((first, last)));
        (took > 0.0).then(|| seconds(self.scheduled) / took)
    }

    fn add(&mut self, seen: &ClientRequest, truth: &RequestTruth) {
        let (Some(first), Some(last)) = (truth.sends_ns.first(), truth.sends_ns.last()) else {
            self.unmatched += 1;
            return;
        };
        self.requests += 1;
        self.ttft_error.record(distance(seen.first_ns, *first));
        self.latency_error.record(distance(seen.last_ns, *last));
        self.lag.record(distance(seen.sent_ns, seen.scheduled_ns));
        self.arrival_lag.record(distance(truth.arrived_ns, seen.scheduled_ns));
        widen(&mut self.scheduled, seen.scheduled_ns);
        widen(&mut self.sent, seen.sent_ns);
        widen(&mut self.arrived, truth.arrived_ns);
        self.last_seen = self.last_seen.max(seen.last_ns);
        self.tokens += truth.sends_ns.len() as u64;
        // Where a server sends all at once, or a client keeps no gaps, there are none to compare.
        if truth.sends_ns.len() > 1 && !seen.gaps_ns.is_empty() {
            self.unmatched += u64::from(truth.sends_ns.len() != seen.gaps_ns.len() + 1);
            for (pair, gap) in truth.sends_ns.windows(2).zip(&seen.gaps_ns) {
                self.itl_error.record(distance(*gap, pair[1] - pair[0]));
            }
        }
    }
}

fn distance(left: u64, right: u64) -> Duration {
    Duration::from_nanos(left.abs_diff(right))
}

fn widen(range: &mut Option<(u64, u64)>, at: u64) {
    *range = Some(range.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
}

/// The length of a range, in seconds; zero where there is none.
pub(super) fn seconds(range: Option<(u64, u64)>) -> f64 {
    range.map_or(0.0, |(first, last)| last.saturating_sub(first) as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Distribution;

    fn seen(number: u64, first_ns: u64, gaps_ns: &[u64]) -> ClientRequest {
        let last_ns = first_ns + gaps_ns.iter().sum::<u64>();
        let gaps_ns = gaps_ns.to_vec();
        ClientRequest { stage: 0, number, scheduled_ns: 100, sent_ns: 130, first_ns, last_ns, gaps_ns }
    }

    fn truth(number: u64, sends_ns: &[u64]) -> RequestTruth {
        RequestTruth { stage: 0, number, arrived_ns: 190, sends_ns: sends_ns.to_vec() }
    }

    fn check(seen: &[ClientRequest], requests: &[RequestTruth]) -> Matched {
        Matched::of(seen, &Truth { requests: requests.to_vec(), ..Truth::default() })
    }

    fn nanos(times: &Times) -> Vec<u64> {
        let all = times.histogram().iter_recorded();
        all.flat_map(|it| vec![it.value_iterated_to(); it.count_since_last_iteration() as usize]).collect()
    }

    #[test]
    fn errors_are_those_of_the_same_token_of_the_same_request() {
        let matched = check(
            &[seen(1, 1_020, &[100, 130]), seen(0, 510, &[60, 40])],
            &[truth(0, &[500, 550, 600]), truth(1, &[1_000, 1_100, 1_200])],
        );
        assert_eq!((matched.requests, matched.unmatched, matched.tokens), (2, 0, 6));
        assert_eq!(nanos(&matched.ttft_error), [10, 20]);
        // 510 + 60 + 40 - 600, and 1,020 + 100 + 130 - 1,200.
        assert_eq!(nanos(&matched.latency_error), [10, 50]);
        // The server's gaps are 50, 50, 100 and 100.
        assert_eq!(nanos(&matched.itl_error), [0, 10, 10, 30]);
        assert_eq!((nanos(&matched.lag), nanos(&matched.arrival_lag)), (vec![30, 30], vec![90, 90]));
        assert_eq!((matched.sent, matched.last_seen), (Some((130, 130)), 1_250));
    }

    #[test]
    fn what_only_one_side_knows_is_counted() {
        assert_eq!(check(&[seen(0, 500, &[])], &[]).unmatched, 1);
        assert_eq!(check(&[], &[truth(0, &[500])]).unmatched, 1);
        assert_eq!(check(&[seen(0, 500, &[])], &[truth(0, &[500]), truth(0, &[900])]).unmatched, 1);
        assert_eq!(check(&[seen(0, 500, &[50])], &[truth(0, &[500, 550, 600])]).unmatched, 1);
        assert_eq!(check(&[seen(0, 500, &[50])], &[truth(0, &[])]).unmatched, 1);
        assert!(Distribution::of_times(&check(&[], &[]).ttft_error).is_none());
    }

    #[test]
    fn a_client_without_gaps_is_matched_by_its_ends() {
        let mut request = seen(0, 505, &[]);
        request.last_ns = 607;
        let matched = check(&[request], &[truth(0, &[500, 550, 600])]);
        assert_eq!((matched.unmatched, nanos(&matched.latency_error)), (0, vec![7]));
        assert!(nanos(&matched.itl_error).is_empty());
    }

    #[test]
    fn a_rate_is_kept_as_far_as_the_last_request_arrives_in_time() {
        let matched = |arrived| Matched { scheduled: Some((1_000, 2_000)), arrived, ..Matched::default() };
        assert_eq!(matched(Some((1_001, 2_000))).achieved(), Some(1.0));
        assert_eq!(matched(Some((1_001, 3_000))).achieved(), Some(0.5));
        assert_eq!(matched(None).achieved(), None);
    }

    #[test]
    fn a_range_has_a_length() {
        assert_eq!(seconds(Some((500_000_000, 2_000_000_000))), 1.5);
        assert_eq!(seconds(None), 0.0);
    }
}
