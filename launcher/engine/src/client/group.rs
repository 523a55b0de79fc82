//! What the clients of all workers share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How many of a stage's requests may be sent again: three, or one in a hundred if that is more. The race between a
/// request and a closing keep-alive connection explains no more.
pub fn explained_resends(requests: u64) -> u64 {
    (requests / 100).max(3)
}

/// The resends of one kind of requests in a stage.
#[derive(Debug, Default)]
struct Resends {
    /// Requests that were started.
    requests: AtomicU64,
    /// Requests that were sent again.
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

#[derive(Debug, Default)]
pub(crate) struct ClientGroup {
    load: Resends,
    /// Probes have a bound of their own, so that their resends do not fail requests of the load.
    probes: Resends,
    lacks_files: AtomicBool,
}

impl ClientGroup {
    /// Resets the counts: the resends of a stage are bounded by its own requests.
    pub(crate) fn begin_stage(&self) {
        self.load.reset();
        self.probes.reset();
        self.lacks_files.store(false, Ordering::Relaxed);
    }

    fn resends(&self, is_probe: bool) -> &Resends {
        if is_probe { &self.probes } else { &self.load }
    }

    pub(super) fn count_request(&self, is_probe: bool) {
        self.resends(is_probe).requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks to send a request again after a kept connection ended without an answer. Returns `false` if keep-alive no
    /// longer explains so many resends: then the server fails.
    pub(super) fn may_resend(&self, is_probe: bool) -> bool {
        self.resends(is_probe).take()
    }

    pub(super) fn note_lack_of_files(&self) {
        self.lacks_files.store(true, Ordering::Relaxed);
    }

    /// Whether the process ever ran out of files. Then no spare connections are opened, and idle ones are closed for
    /// requests that wait.
    pub(super) fn lacks_files(&self) -> bool {
        self.lacks_files.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of this many requests may be sent again, if each of them asks.
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
        // Probes have their own bound.
        assert_eq!((0..5).filter(|_| group.may_resend(true)).count(), 3);
        group.begin_stage();
        assert!(group.may_resend(false) && group.may_resend(true));
    }
}
