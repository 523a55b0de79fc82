//! What the clients of all workers share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Of so many requests of a stage these may be sent again: three, or one in a hundred where that is more. A race of keep-alive
/// explains no more.
pub fn explained_resends(requests: u64) -> u64 {
    (requests / 100).max(3)
}

/// The resends of one kind of requests of a stage.
#[derive(Debug, Default)]
struct Resends {
    /// Requests that were begun.
    requests: AtomicU64,
    /// Of these, those that were sent again.
    resent: AtomicU64,
}

impl Resends {
    fn reset(&self) {
        self.requests.store(0, Ordering::Relaxed);
        self.resent.store(0, Ordering::Relaxed);
    }

    fn take(&self) -> bool {
        let bound = explained_resends(self.requests.load(Ordering::Relaxed));
        let more = |resent| (resent < bound).then_some(resent + 1);
        self.resent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }
}

/// Shared by all clients of a load.
#[derive(Debug, Default)]
pub struct ClientGroup {
    load: Resends,
    /// Probes have a bound of their own: theirs must not fail requests of the load.
    probes: Resends,
    lacks_files: AtomicBool,
}

impl ClientGroup {
    /// A stage begins: its resends are bounded by its own requests.
    pub fn begin_stage(&self) {
        self.load.reset();
        self.probes.reset();
        self.lacks_files.store(false, Ordering::Relaxed);
    }

    fn resends(&self, is_probe: bool) -> &Resends {
        if is_probe { &self.probes } else { &self.load }
    }

    /// A request begins.
    pub(super) fn count_request(&self, is_probe: bool) {
        self.resends(is_probe).requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes leave to send a request again, because the kept connection that it went out on ended without an answer; `false`
    /// where keep-alive no longer explains so many. Then it is the server that fails.
    pub(super) fn may_resend(&self, is_probe: bool) -> bool {
        self.resends(is_probe).take()
    }

    /// The process has no file left for another connection.
    pub(super) fn note_lack_of_files(&self) {
        self.lacks_files.store(true, Ordering::Relaxed);
    }

    /// Whether it ever ran short: then no connections are opened to spare, and idle ones are closed for requests that wait.
    pub(super) fn lacks_files(&self) -> bool {
        self.lacks_files.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many requests may be sent again, each of which asks.
    fn check(requests: u64) -> usize {
        let group = ClientGroup::default();
        let asks = |_| {
            group.count_request(false);
            group.may_resend(false)
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
        assert_eq!((0..5).filter(|_| group.may_resend(false)).count(), 3);
        // Probes have their own.
        assert_eq!((0..5).filter(|_| group.may_resend(true)).count(), 3);
        group.begin_stage();
        assert!(group.may_resend(false) && group.may_resend(true));
    }
}
