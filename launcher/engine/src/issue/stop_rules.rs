//! The stop rules of a workload. Each stage counts its own requests, over all workers.

use std::{
    collections::VecDeque,
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

use tokio::sync::watch;
use workload_profiles::workload::{Hit, HitLimit, StopRule};

use super::timeline::nanos;
use measurement::{
    load_result::RuleEnd,
    record::{RequestOutcome, RequestRecord},
};

/// Tolerance for rounding errors, so that a share that is reached exactly counts as reached.
const ROUNDING: f64 = 1e-9;

/// The stop rules of one stage.
#[derive(Debug)]
pub(super) struct StopRules {
    counts: Vec<Mutex<Counts>>,
    end: OnceLock<RuleEnd>,
    has_ended: watch::Sender<bool>,
}

/// The counts for one rule.
#[derive(Debug)]
struct Counts {
    hit: Hit,
    limit: HitLimit,
    /// Number of ended requests. The next field: how many of them were hits; with `InARow`, the number of consecutive hits up to now.
    ended: u64,
    hits: u64,
    /// The latest requests, if the limit covers only these. Each takes eight bytes: its end in nanoseconds x 2, plus 1 if it was a hit.
    last: VecDeque<u64>,
}

impl StopRules {
    pub(super) fn new(rules: &[StopRule]) -> StopRules {
        let counts = |rule: &StopRule| {
            Mutex::new(Counts { hit: rule.hit, limit: rule.limit, ended: 0, hits: 0, last: VecDeque::new() })
        };
        let (end, has_ended) = (OnceLock::new(), watch::Sender::new(false));
        StopRules { counts: rules.iter().map(counts).collect(), end, has_ended }
    }

    /// Counts an ended request. Returns the rule that ends the stage, if this request is the first to fulfil one.
    pub(super) fn count(&self, record: &RequestRecord) -> Option<RuleEnd> {
        // A request that its client or the launcher abandoned says nothing about the server.
        if self.counts.is_empty() || !record.outcome.is_decided() || self.end.get().is_some() {
            return None;
        }
        let fulfilled = |counts: &Mutex<Counts>| counts.lock().unwrap_or_else(PoisonError::into_inner).count(record);
        // Every rule counts the request, even after another rule is fulfilled.
        let fulfilled = self.counts.iter().map(fulfilled).collect::<Vec<_>>().into_iter().position(|it| it)?;
        let end = RuleEnd { rule: u32::try_from(fulfilled).unwrap_or(u32::MAX), at: record.ended };
        let is_first = self.end.set(end).is_ok();
        self.has_ended.send_replace(true);
        is_first.then_some(end)
    }

    pub(super) fn end(&self) -> Option<RuleEnd> {
        self.end.get().copied()
    }

    /// Waits until a rule ends the stage.
    pub(super) async fn ended(&self) {
        if self.counts.is_empty() {
            return std::future::pending().await;
        }
        // The wait cannot fail, because `self` owns the sender.
        let _ = self.has_ended.subscribe().wait_for(|it| *it).await;
    }
}

impl Counts {
    /// Counts a request. Returns whether the limit is reached.
    fn count(&mut self, record: &RequestRecord) -> bool {
        let is_hit = is_hit(self.hit, record);
        match self.limit {
            HitLimit::Count(limit) => {
                self.hits += u64::from(is_hit);
                is_hit && self.hits >= limit
            }
            HitLimit::InARow(limit) => {
                self.hits = if is_hit { self.hits + 1 } else { 0 };
                is_hit && self.hits >= limit
            }
            HitLimit::ShareOfAll { share, least } => {
                self.ended += 1;
                self.hits += u64::from(is_hit);
                self.has_share(share, u64::from(least))
            }
            HitLimit::ShareOfLast { share, of } => {
                self.add_last(record.ended, is_hit);
                while self.ended > u64::from(of) {
                    self.forget_first();
                }
                self.has_share(share, u64::from(of))
            }
            HitLimit::ShareWithin { share, within, least } => {
                self.add_last(record.ended, is_hit);
                let since = nanos(record.ended.saturating_sub(within.0));
                while self.last.front().is_some_and(|it| it / 2 < since) {
                    self.forget_first();
                }
                self.has_share(share, u64::from(least))
            }
        }
    }

    fn add_last(&mut self, ended: Duration, is_hit: bool) {
        self.last.push_back(nanos(ended).saturating_mul(2) | u64::from(is_hit));
        self.ended += 1;
        self.hits += u64::from(is_hit);
    }

    fn forget_first(&mut self) {
        let first = self.last.pop_front().unwrap_or_default();
        self.ended = self.ended.saturating_sub(1);
        self.hits = self.hits.saturating_sub(first % 2);
    }

    /// Whether the share of hits is reached. Without a hit no share is reached, not even a share of 0.
    fn has_share(&self, share: f64, least: u64) -> bool {
        self.hits > 0 && self.ended >= least && self.hits as f64 >= share * self.ended as f64 - ROUNDING
    }
}

fn is_hit(hit: Hit, record: &RequestRecord) -> bool {
    let since_sent = |at: Duration| at.saturating_sub(record.sent.unwrap_or(record.scheduled));
    match hit {
        Hit::Failed => !record.outcome.is_success(),
        Hit::Status(status) => record.outcome == RequestOutcome::HttpError(status),
        Hit::TimedOut => record.outcome == RequestOutcome::Timeout,
        Hit::TtftAbove(limit) => {
            // All tokens of an answer in one piece arrive at its end.
            let first = record.first_token.or(record.last_token);
            first.is_none_or(|it| since_sent(it) > limit.0)
        }
        Hit::LatencyAbove(limit) => since_sent(record.ended) > limit.0,
    }
}

#[cfg(test)]
mod tests {
    use crds::units::Span;
    use proptest::prelude::*;
    use workload_profiles::workload::StopScope;

    use super::*;

    const fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// A request sent at 0 that ends at `ended`. Its first token arrives halfway.
    fn request(ended: u64, outcome: RequestOutcome) -> RequestRecord {
        let token = outcome.is_success().then(|| millis(ended / 2));
        RequestRecord {
            stage: 0,
            number: 0,
            scheduled: Duration::ZERO,
            sent: Some(Duration::ZERO),
            permit_wait: None,
            first_token: token,
            last_token: token,
            ended: millis(ended),
            outcome,
            requested_input_tokens: None,
            requested_output_tokens: None,
            input_tokens: None,
            cached_tokens: None,
            class: None,
            turn: None,
            output_tokens: None,
            content_events: 0,
            replica: None,
        }
    }

    fn rules(limit: HitLimit) -> StopRules {
        StopRules::new(&[StopRule { name: "r".into(), hit: Hit::Failed, limit, scope: StopScope::Stage }])
    }

    /// Returns the number, from 1, of the request that ends the stage. One request ends per second; `x` is a failed request.
    fn check(limit: HitLimit, requests: &str) -> Option<usize> {
        let rules = rules(limit);
        let end = requests.chars().zip(1..).find_map(|(request_ended, number)| {
            let outcome = if request_ended == 'x' { RequestOutcome::Timeout } else { RequestOutcome::Ok };
            rules.count(&request(1_000 * number, outcome)).map(|it| (it, number))
        });
        assert_eq!(rules.end(), end.map(|it| it.0));
        end.map(|(end, number)| {
            assert_eq!(end, RuleEnd { rule: 0, at: millis(1_000 * number) });
            number as usize
        })
    }

    #[test]
    fn each_limit_ends_a_stage_at_the_request_that_reaches_it() {
        assert_eq!(check(HitLimit::Count(3), "x..x...x."), Some(8));
        assert_eq!(check(HitLimit::InARow(3), "xx.xx.xxxx"), Some(9));
        assert_eq!(check(HitLimit::InARow(3), "xx.xx.xx."), None);
        // The share counts only once there are four requests. After that, 2 of the last 4 must be hits.
        assert_eq!(check(HitLimit::ShareOfLast { share: 0.5, of: 4 }, "xx.."), Some(4));
        assert_eq!(check(HitLimit::ShareOfLast { share: 0.5, of: 4 }, "x...x...x..x"), Some(12));
        // The requests that ended within the last 3 s, including both ends: four requests.
        let within = |least| HitLimit::ShareWithin { share: 0.75, within: Span(millis(3_000)), least };
        assert_eq!(check(within(1), "....x.xxx"), Some(8));
        assert_eq!(check(within(1), "x"), Some(1));
        assert_eq!(check(within(4), "x.x.x.x"), None);
        assert_eq!(check(HitLimit::ShareOfAll { share: 0.2, least: 5 }, "x...."), Some(5));
        assert_eq!(check(HitLimit::ShareOfAll { share: 0.5, least: 2 }, "..xx"), Some(4));
        assert_eq!(check(HitLimit::ShareOfAll { share: 0.0, least: 1 }, "..x"), Some(3));
    }

    #[test]
    fn each_kind_of_hit_is_told_from_the_others() {
        let (ok, slow) = (request(1_000, RequestOutcome::Ok), request(9_000, RequestOutcome::Ok));
        let refused = request(1_000, RequestOutcome::HttpError(503));
        let (late, empty) = (request(1_000, RequestOutcome::Timeout), request(1_000, RequestOutcome::Empty));
        let hits = |hit| [&ok, &slow, &refused, &late, &empty].map(|it| is_hit(hit, it));
        assert_eq!(hits(Hit::Failed), [false, false, true, true, true]);
        assert_eq!(hits(Hit::Status(503)), [false, false, true, false, false]);
        assert_eq!(hits(Hit::Status(500)), [false; 5]);
        assert_eq!(hits(Hit::TimedOut), [false, false, false, true, false]);
        // The first token comes after 500 ms, after 4,500 ms, or never.
        assert_eq!(hits(Hit::TtftAbove(Span(millis(500)))), [false, true, true, true, true]);
        assert_eq!(hits(Hit::LatencyAbove(Span(millis(1_000)))), [false, true, false, false, false]);
        let whole = RequestRecord { first_token: None, ..ok.clone() };
        assert!(!is_hit(Hit::TtftAbove(Span(millis(500))), &whole), "an answer in one piece");
    }

    #[test]
    fn what_says_nothing_about_the_server_is_not_counted() {
        let rules = rules(HitLimit::Count(1));
        for outcome in [RequestOutcome::Cancelled, RequestOutcome::Abandoned, RequestOutcome::Incomplete] {
            assert_eq!(rules.count(&request(1, outcome)), None);
        }
        assert!(rules.count(&request(1, RequestOutcome::ClientError)).is_some());
        assert_eq!(rules.count(&request(2, RequestOutcome::ClientError)), None, "it fires once");
        assert_eq!(StopRules::new(&[]).count(&request(1, RequestOutcome::Timeout)), None);
    }

    proptest! {
        #[test]
        fn a_share_of_the_last_is_what_counting_them_again_gives(
            outcomes in prop::collection::vec(any::<bool>(), 1..200), of in 1_u32..30, percent in 1_u32..=100,
        ) {
            let share = f64::from(percent) / 100.0;
            let text: String = outcomes.iter().map(|it| if *it { 'x' } else { '.' }).collect();
            let expected = (1..=outcomes.len()).find(|end| {
                let last = &outcomes[end.saturating_sub(of as usize)..*end];
                let hits = last.iter().filter(|it| **it).count();
                last.len() == of as usize && hits as f64 >= share * f64::from(of) - ROUNDING && hits > 0
            });
            prop_assert_eq!(check(HitLimit::ShareOfLast { share, of }, &text), expected);
        }
    }
}
