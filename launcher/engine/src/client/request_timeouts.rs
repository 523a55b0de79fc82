//! [I/O] The timeouts of a request. Each request has one timer, which periodically checks the progress of the answer. A token therefore
//! needs no timer of its own, and a stall is still noticed to the millisecond.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use crds::units::Span;
use workload_profiles::workload::Timeouts;

use super::{answer::Answer, failure::Failure};
use clock::{Clock, TimedOut};
use measurement::record::Limit;

/// The timeouts of a request in flight, except the connect timeout, which [`Client`](super::Client) has.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestTimeouts {
    first_token: Option<Duration>,
    token_gap: Option<Duration>,
    request: Option<Duration>,
}

/// How far a request has come. The request and the code that waits for it are in one task: the request writes this, and the other code reads it. A
/// look at a trial reads the time of the first token from another thread.
#[derive(Debug, Default)]
pub struct RequestProgress {
    /// When the request was sent, in nanoseconds plus one; 0 if it was not sent.
    sent: AtomicU64,
    /// Nanoseconds of the first event with a token, plus one; 0 if there was none.
    first_token: AtomicU64,
    /// Nanoseconds of the last event with a token, plus one; 0 if there was none.
    token: AtomicU64,
    complete: AtomicBool,
}

impl RequestProgress {
    pub(super) fn sent(&self, at: Duration) {
        store(&self.sent, at);
    }

    /// Records that more of the answer has arrived.
    pub(super) fn saw(&self, answer: &Answer) {
        if let Some(at) = answer.last_event() {
            store(&self.token, at);
            if self.first_token.load(Ordering::Relaxed) == 0 {
                store(&self.first_token, answer.first_token.unwrap_or(at));
            }
        }
        if answer.is_complete() {
            self.complete.store(true, Ordering::Relaxed);
        }
    }

    /// When the first token arrived, on the clock of the load. Other threads may call it.
    pub(crate) fn first_token(&self) -> Option<Duration> {
        time(&self.first_token)
    }

    fn milestone(&self) -> Milestone {
        match (self.complete.load(Ordering::Relaxed), time(&self.token), time(&self.sent)) {
            (true, ..) => Milestone::Complete,
            (_, Some(at), _) => Milestone::Token(at),
            (_, None, Some(at)) => Milestone::Sent(at),
            (_, None, None) => Milestone::Connecting,
        }
    }
}

fn time(from: &AtomicU64) -> Option<Duration> {
    from.load(Ordering::Relaxed).checked_sub(1).map(Duration::from_nanos)
}

fn store(to: &AtomicU64, at: Duration) {
    to.store(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX - 1) + 1, Ordering::Relaxed);
}

/// The latest milestone of a request, and when it was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Milestone {
    Connecting,
    Sent(Duration),
    Token(Duration),
    /// All relevant data has arrived. The rest of the body has a separate timeout.
    Complete,
}

impl RequestTimeouts {
    /// Creates the timeouts of a workload. An answer in one piece has no timeouts for the first token and between tokens.
    pub fn new(timeouts: &Timeouts, streaming: bool) -> RequestTimeouts {
        let of_stream = |limit: Option<Span>| limit.filter(|_| streaming).map(|it| it.0);
        RequestTimeouts {
            first_token: of_stream(timeouts.first_token),
            token_gap: of_stream(timeouts.token_gap),
            request: timeouts.request.map(|it| it.0),
        }
    }

    /// Runs a request that begins now until it ends or a timeout passes.
    ///
    /// # Errors
    /// Returns the timeout that passed. The request is then dropped.
    pub async fn wait<T>(
        &self,
        clock: Clock,
        progress: &RequestProgress,
        request: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let start = clock.now();
        let mut request = pin!(request);
        loop {
            let check_at = self.next_check(start, clock.now(), progress.milestone());
            match clock.within(check_at, request.as_mut()).await {
                Ok(done) => return Ok(done),
                Err(TimedOut) => {
                    if let Some(failure) = self.passed(start, clock.now(), progress.milestone()) {
                        return Err(failure);
                    }
                }
            }
        }
    }

    /// Returns the timeouts that apply now, each with the time at which it passes if the request makes no further progress.
    fn reached(&self, start: Duration, milestone: Milestone) -> [Option<(Duration, Limit)>; 2] {
        let after = |since: Duration, length: Option<Duration>, limit| {
            length.and_then(|it| since.checked_add(it)).map(|at| (at, limit))
        };
        let whole = after(start, self.request, Limit::Request);
        let part = match milestone {
            Milestone::Complete => return [None, None],
            Milestone::Connecting => None,
            Milestone::Sent(at) => after(at, self.first_token, Limit::FirstToken),
            Milestone::Token(at) => after(at, self.token_gap, Limit::TokenGap),
        };
        [whole, part]
    }

    /// Returns the earliest time at which any timeout could pass, whatever arrives until then.
    fn next_check(&self, start: Duration, now: Duration, milestone: Milestone) -> Option<Duration> {
        let known = self.reached(start, milestone).into_iter().flatten().map(|(at, _)| at);
        // The time limits of later milestones begin now at the earliest.
        let (first_token, token_gap) = match milestone {
            Milestone::Connecting => (self.first_token, self.token_gap),
            Milestone::Sent(_) => (None, self.token_gap),
            Milestone::Token(_) | Milestone::Complete => (None, None),
        };
        let later = [first_token, token_gap].into_iter().flatten().filter_map(|it| now.checked_add(it));
        known.chain(later).min()
    }

    /// Returns the timeout that has passed, if any. If several have, returns the earliest.
    fn passed(&self, start: Duration, now: Duration, milestone: Milestone) -> Option<Failure> {
        let reached = self.reached(start, milestone).into_iter().flatten().filter(|(at, _)| *at <= now);
        let (_, limit) = reached.min_by_key(|(at, _)| *at)?;
        let told = |length: Option<Duration>| Span(length.unwrap_or_default());
        let message = match limit {
            Limit::Connect | Limit::Request => {
                format!("it took longer than the request timeout, {}", told(self.request))
            }
            Limit::FirstToken => format!("no token came within the first-token timeout, {}", told(self.first_token)),
            Limit::TokenGap => {
                format!("the stream stalled for longer than the token-gap timeout, {}", told(self.token_gap))
            }
        };
        Some(Failure::timeout(limit, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn request_timeouts(first_token: u64, token_gap: u64, request: u64) -> RequestTimeouts {
        let limit = |count: u64| (count > 0).then(|| Span(secs(count)));
        let timeouts = Timeouts {
            first_token: limit(first_token),
            token_gap: limit(token_gap),
            request: limit(request),
            ..Timeouts::default()
        };
        RequestTimeouts::new(&timeouts, true)
    }

    /// Simulates a request that is sent after `sent` seconds, with tokens at the given seconds, and ends at `end` seconds. Returns the
    /// second at which the wait ended, and the timeout that passed, if any.
    async fn check(timeouts: RequestTimeouts, sent: u64, tokens: &[u64], end: u64) -> (u64, Option<Limit>) {
        let clock = Clock::from_runtime();
        let progress = RequestProgress::default();
        let sleeper = clock.sleeper();
        let request = async {
            sleeper.until(secs(sent)).await;
            progress.sent(clock.now());
            for at in tokens {
                sleeper.until(secs(*at)).await;
                store(&progress.token, clock.now());
            }
            sleeper.until(secs(end)).await;
        };
        let limit = timeouts.wait(clock, &progress, request).await.err().and_then(|it| it.limit);
        (clock.now().as_secs(), limit)
    }

    #[tokio::test(start_paused = true)]
    async fn each_limit_counts_from_its_own_begin() {
        let tokens: Vec<u64> = (5..50).collect();
        assert_eq!(check(request_timeouts(4, 3, 100), 3, &tokens, 51).await, (51, None));
        // The time to connect does not count towards the first-token timeout.
        assert_eq!(check(request_timeouts(4, 3, 100), 20, &[25], 26).await, (24, Some(Limit::FirstToken)));
        // A token that arrives exactly at the limit is in time.
        assert_eq!(check(request_timeouts(4, 3, 100), 20, &[24], 25).await, (25, None));
        assert_eq!(check(request_timeouts(4, 3, 100), 1, &[], 90).await, (5, Some(Limit::FirstToken)));
        // The stall begins long after the timer was set.
        assert_eq!(
            check(request_timeouts(30, 7, 100), 0, &[10, 12, 14, 15, 17], 90).await,
            (24, Some(Limit::TokenGap))
        );
        assert_eq!(check(request_timeouts(0, 7, 0), 0, &[40, 46, 52], 90).await, (59, Some(Limit::TokenGap)));
        assert_eq!(check(request_timeouts(0, 0, 20), 0, &tokens, 51).await, (20, Some(Limit::Request)));
        assert_eq!(check(request_timeouts(0, 0, 20), 30, &[], 51).await, (20, Some(Limit::Request)));
        assert_eq!(check(request_timeouts(0, 0, 0), 0, &[40_000], 90_000).await, (90_000, None));
    }

    #[test]
    fn an_answer_in_one_piece_has_no_tokens_to_wait_for() {
        let limit = Some(Span(secs(1)));
        let timeouts = Timeouts { first_token: limit, token_gap: limit, request: limit, ..Timeouts::default() };
        let timeouts = RequestTimeouts::new(&timeouts, false);
        assert_eq!((timeouts.first_token, timeouts.token_gap, timeouts.request), (None, None, Some(secs(1))));
    }

    #[test]
    fn a_complete_answer_is_not_waited_for() {
        let timeouts = request_timeouts(1, 1, 1);
        assert_eq!(timeouts.next_check(secs(0), secs(9), Milestone::Complete), None);
        assert!(timeouts.passed(secs(0), secs(9), Milestone::Complete).is_none());
        assert!(
            timeouts.passed(secs(0), secs(9), Milestone::Token(secs(9))).unwrap().message.contains("request timeout")
        );
    }
}
