//! What the clients of all lanes share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Requests of a stage that may be sent again, however few it has: so many a race of keep-alive explains.
const FEW: u64 = 3;
/// Beyond these, one of so many requests.
const ONE_IN: u64 = 100;

/// Shared by all clients of a load.
#[derive(Debug, Default)]
pub struct ClientGroup {
    /// Requests of the stage that were begun.
    requests: AtomicU64,
    /// Of these, those that were sent again.
    resent: AtomicU64,
    short_of_files: AtomicBool,
}

impl ClientGroup {
    /// A stage begins: its resends are bounded by its own requests.
    pub fn begin_stage(&self) {
        self.requests.store(0, Ordering::Relaxed);
        self.resent.store(0, Ordering::Relaxed);
    }

    /// A request begins.
    pub(super) fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes leave to send a request again, because the kept connection that it went out on ended without an answer; `false`
    /// where keep-alive no longer explains so many. Then it is the server that fails.
    pub(super) fn may_resend(&self) -> bool {
        let bound = FEW.max(self.requests.load(Ordering::Relaxed) / ONE_IN);
        let more = |resent| (resent < bound).then_some(resent + 1);
        self.resent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// The process has no file left for another connection.
    pub(super) fn run_short_of_files(&self) {
        self.short_of_files.store(true, Ordering::Relaxed);
    }

    /// Whether it ever ran short: then no connections are opened to spare, and idle ones are closed for requests that wait.
    pub(super) fn is_short_of_files(&self) -> bool {
        self.short_of_files.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many requests may be sent again, each of which asks.
    fn check(requests: u64) -> usize {
        let group = ClientGroup::default();
        let asks = |_| {
            group.count_request();
            group.may_resend()
        };
        (0..requests).map(asks).filter(|it| *it).count()
    }

    #[test]
    fn a_few_resends_are_allowed_and_one_in_a_hundred_beyond() {
        assert_eq!([check(1), check(3), check(4), check(399), check(400), check(100_000)], [1, 3, 3, 3, 4, 1_000]);
    }

    #[test]
    fn a_stage_begins_anew() {
        let group = ClientGroup::default();
        assert_eq!((0..5).filter(|_| group.may_resend()).count(), 3);
        group.begin_stage();
        assert!(group.may_resend());
    }
}
