//! Compares the client's record with the server's, request by request and token by token. Pure.

use std::{collections::HashMap, time::Duration};

use workload_profiles::workload::{Arrivals, Load, Rate};

use crate::{
    child_messages::ClientRequest,
    server::{RequestTruth, Truth},
};
use measurement::histogram::TimeHistogram;

/// Maximum difference, in nanoseconds, between two processes that read the same clock on two cores.
const GRANULARITY_NS: u64 = 1_000;
/// Tolerance for random gaps, in standard errors. By chance, the deviation exceeds four standard errors only once in 15,000 draws. The standard error
/// of the rate of n random gaps is about their coefficient of variation / sqrt(n).
const DEVIATIONS: f64 = 4.0;

/// The rate that an open-loop load should have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestedLoad {
    /// Rate in requests per second.
    rate: f64,
    /// Total number of requests; `None` if the load does not define it.
    requests: Option<u64>,
    /// Coefficient of variation of the gaps; 0 if they are not random.
    variation: f64,
}

impl RequestedLoad {
    /// Returns the requested rate if the load has a steady rate that answers cannot delay; `None` for any other load.
    pub fn from_load(load: &Load) -> Option<RequestedLoad> {
        let Load::Open { arrivals, rate: Rate::Steady(rate), count, max_concurrency: None, .. } = load else {
            return None;
        };
        let variation = match arrivals {
            Arrivals::Constant | Arrivals::ConstantAfterGap => 0.0,
            Arrivals::Poisson | Arrivals::ConditionedPoisson | Arrivals::PoissonPerSecond => 1.0,
            Arrivals::Gamma { burstiness } | Arrivals::ConditionedGamma { burstiness } => 1.0 / burstiness.sqrt(),
        };
        Some(RequestedLoad { rate: f64::from(*rate), requests: *count, variation })
    }
}

/// The client's and the server's record of a trial, compared with each other.
#[derive(Clone, Debug, Default)]
pub struct Matched {
    /// Number of requests that both sides recorded.
    pub requests: u64,
    /// Number of requests or tokens that only one side recorded, or that the client received before the server sent them. Each of them is a fault of
    /// the trial or of the client.
    pub unmatched: u64,
    /// Number of tokens in the requests that both sides recorded.
    pub tokens: u64,
    /// First token received - first token sent.
    pub ttft_error: TimeHistogram,
    /// Last token received - last token sent.
    pub latency_error: TimeHistogram,
    /// |gap received - gap sent|, for each pair of consecutive tokens.
    pub itl_error: TimeHistogram,
    /// Send lag: sent - scheduled, both at the client, minus the time that the request waited for a permit.
    pub lag: TimeHistogram,
    /// How late requests arrived at the server: arrived - scheduled, minus the time that the request waited for a permit.
    pub arrival_lag: TimeHistogram,
    /// The first and the last time at which a request was due.
    pub scheduled: Option<(u64, u64)>,
    /// The first and the last time at which a request was sent.
    pub sent: Option<(u64, u64)>,
    /// The first and the last time at which a request arrived.
    pub arrived: Option<(u64, u64)>,
    /// When the last token was received.
    pub last_seen: u64,
}

impl Matched {
    /// Matches requests by stage and number.
    pub fn new(seen: &[ClientRequest], truth: &Truth) -> Matched {
        let mut known: HashMap<(u32, u64), &RequestTruth> = HashMap::with_capacity(truth.requests.len());
        let mut matched = Matched::default();
        for request in &truth.requests {
            // A request that arrived twice was sent by the client only once.
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

    /// Returns the fraction of the requested load that arrived in time: received / max(rate × time + 1, requested). The time is from the first due
    /// time to the last arrival. A random schedule can differ from the requested rate by chance. In this case, the fraction is computed from the
    /// rates instead: (rate × scheduled time + 1) / (rate × time + 1).
    pub fn achieved(&self, requested: &RequestedLoad) -> Option<f64> {
        let ((first, _), (_, last)) = (self.scheduled?, self.arrived?);
        let known = self.requests as f64;
        let of = |seconds: f64| (requested.rate * seconds + 1.0).max(requested.requests.unwrap_or_default() as f64);
        let (due, took) = (seconds(self.scheduled), seconds(Some((first, last))));
        let drawn = known / of(due);
        let chance = DEVIATIONS * requested.variation / known.sqrt();
        let share = if (drawn - 1.0).abs() <= chance {
            (requested.rate * due + 1.0) / (requested.rate * took + 1.0)
        } else {
            known / of(took)
        };
        Some(share.min(1.0))
    }

    fn add(&mut self, seen: &ClientRequest, truth: &RequestTruth) {
        let (Some(first), Some(last)) = (truth.sends_ns.first(), truth.sends_ns.last()) else {
            self.unmatched += 1;
            return;
        };
        let pairs = [(seen.first_ns, *first), (seen.last_ns, *last), (truth.arrived_ns, seen.scheduled_ns)];
        if pairs.iter().any(|(later, sooner)| later.saturating_add(GRANULARITY_NS) < *sooner) {
            // A token cannot be received before it was sent, so the two sides recorded different tokens here.
            self.unmatched += 1;
            return;
        }
        self.requests += 1;
        self.ttft_error.record(Duration::from_nanos(seen.first_ns.saturating_sub(*first)));
        self.latency_error.record(Duration::from_nanos(seen.last_ns.saturating_sub(*last)));
        let free = seen.scheduled_ns.saturating_add(seen.queued_ns);
        self.lag.record(Duration::from_nanos(seen.sent_ns.saturating_sub(free)));
        self.arrival_lag.record(Duration::from_nanos(truth.arrived_ns.saturating_sub(free)));
        widen(&mut self.scheduled, seen.scheduled_ns);
        widen(&mut self.sent, seen.sent_ns);
        widen(&mut self.arrived, truth.arrived_ns);
        self.last_seen = self.last_seen.max(seen.last_ns);
        self.tokens += truth.sends_ns.len() as u64;
        // There is nothing to compare if the server sent everything in one piece, or if the client did not keep the gaps.
        if truth.sends_ns.len() > 1 && !seen.gaps_ns.is_empty() {
            self.unmatched += u64::from(truth.sends_ns.len() != seen.gaps_ns.len() + 1);
            for (pair, gap) in truth.sends_ns.windows(2).zip(&seen.gaps_ns) {
                self.itl_error.record(Duration::from_nanos(gap.abs_diff(pair[1].saturating_sub(pair[0]))));
            }
        }
    }
}

fn widen(range: &mut Option<(u64, u64)>, at: u64) {
    *range = Some(range.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
}

/// Returns the length of a range of nanoseconds, in seconds; 0 if there is no range.
pub fn seconds(range: Option<(u64, u64)>) -> f64 {
    range.map_or(0.0, |(first, last)| last.saturating_sub(first) as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use crds::units::RequestRate;

    use super::*;
    use crate::loads;
    use analysis::Distribution;

    fn seen(number: u64, first_ns: u64, gaps_ns: &[u64]) -> ClientRequest {
        let last_ns = first_ns + gaps_ns.iter().sum::<u64>();
        let gaps_ns = gaps_ns.to_vec();
        ClientRequest { stage: 0, number, scheduled_ns: 100, queued_ns: 0, sent_ns: 130, first_ns, last_ns, gaps_ns }
    }

    fn truth(number: u64, sends_ns: &[u64]) -> RequestTruth {
        RequestTruth { stage: 0, number, arrived_ns: 190, sends_ns: sends_ns.to_vec() }
    }

    fn check(seen: &[ClientRequest], requests: &[RequestTruth]) -> Matched {
        Matched::new(seen, &Truth { requests: requests.to_vec(), ..Truth::default() })
    }

    fn nanos(times: &TimeHistogram) -> Vec<u64> {
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
        // 510 + 60 + 40 - 600 = 10, and 1,020 + 100 + 130 - 1,200 = 50.
        assert_eq!(nanos(&matched.latency_error), [10, 50]);
        // The gaps of the server are 50, 50, 100 and 100.
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
    fn what_was_seen_before_it_was_sent_is_not_the_same_token() {
        let check = |first_ns, gap| check(&[seen(0, first_ns, &[gap])], &[truth(0, &[5_000, 9_000])]);
        let matched = check(4_000, 4_000);
        assert_eq!(
            (matched.unmatched, nanos(&matched.ttft_error), nanos(&matched.latency_error)),
            (0, vec![0], vec![0])
        );
        for (first_ns, gap) in [(3_999, 6_000), (5_010, 2_989)] {
            let matched = check(first_ns, gap);
            assert_eq!(
                (matched.requests, matched.unmatched, nanos(&matched.ttft_error)),
                (0, 1, Vec::new()),
                "{first_ns}"
            );
        }
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
    fn waiting_for_room_is_not_late() {
        let request = ClientRequest { queued_ns: 25, ..seen(0, 500, &[]) };
        let matched = check(&[request], &[truth(0, &[500])]);
        assert_eq!((nanos(&matched.lag), nanos(&matched.arrival_lag)), (vec![5], vec![65]));
    }

    #[test]
    fn a_rate_is_kept_as_far_as_all_requests_arrive_in_time() {
        const SECOND: u64 = 1_000_000_000;
        let check = |arrivals, requests, due: u64, last: u64| {
            let rate = RequestRate::try_from(100.0).unwrap();
            let requested = RequestedLoad::from_load(&loads::open(arrivals, rate, 1_000, 1).stages[0].load).unwrap();
            let (scheduled, arrived) = (Some((0, due * SECOND / 100)), Some((1, last * SECOND / 100)));
            let share = Matched { requests, scheduled, arrived, ..Matched::default() }.achieved(&requested).unwrap();
            (share * 1_000.0).round() / 1_000.0
        };
        use Arrivals::{Constant, Poisson};
        // The schedule has 1,000 gaps of 10 ms. The last gap comes after the last request.
        assert_eq!(check(Constant, 1_000, 999, 999), 1.0);
        assert_eq!(check(Constant, 1_000, 999, 1_999), 0.5);
        // First, only every other request arrives. Then, only the first half of the requests arrives.
        assert_eq!(check(Constant, 500, 999, 999), 0.5);
        assert_eq!(check(Constant, 500, 499, 499), 0.5);
        // All requests arrive, but at half the rate.
        assert_eq!(check(Constant, 1_000, 1_998, 1_998), 0.5);
        assert_eq!(check(Poisson, 1_000, 1_998, 1_998), 0.5);
        // A random schedule can have only 950 requests, which is not a fault. But late requests in such a schedule are one.
        assert_eq!(check(Poisson, 950, 999, 999), 1.0);
        assert_eq!(check(Poisson, 950, 999, 1_999), 0.5);
        assert_eq!(check(Poisson, 500, 999, 999), 0.5);
        let requested = RequestedLoad { rate: 100.0, requests: None, variation: 0.0 };
        assert_eq!(Matched::default().achieved(&requested), None);
    }

    #[test]
    fn only_a_steady_rate_that_nothing_holds_back_is_asked() {
        let rate = RequestRate::try_from(5.0).unwrap();
        let mut load = loads::open(Arrivals::Gamma { burstiness: 0.25 }, rate, 20, 1).stages.remove(0).load;
        assert_eq!(
            RequestedLoad::from_load(&load),
            Some(RequestedLoad { rate: 5.0, requests: Some(20), variation: 2.0 })
        );
        if let Load::Open { max_concurrency, .. } = &mut load {
            *max_concurrency = Some(3);
        }
        assert_eq!(RequestedLoad::from_load(&load), None);
        assert_eq!(RequestedLoad::from_load(&loads::closed(1, 1, 1).stages[0].load), None);
    }

    #[test]
    fn a_range_has_a_length() {
        assert_eq!(seconds(Some((500_000_000, 2_000_000_000))), 1.5);
        assert_eq!(seconds(None), 0.0);
    }
}
