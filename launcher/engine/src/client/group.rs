//! State that the clients of all workers share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use measurement::resends::explained_resends;
use tracing::warn;

/// Counts the resends of one kind of request (load or probe) in a stage.
#[derive(Debug, Default)]
struct Resends {
    /// Number of requests started.
    requests: AtomicU64,
    /// Number of requests sent again.
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

/// Outcomes of requests on connections that had carried a response before. Some servers claim to keep a connection, but close it after each response.
#[derive(Debug, Default)]
struct UsedConnections {
    /// Number of such requests in this stage that got a response.
    answered: AtomicU64,
    /// Number of such requests in this stage whose connection ended without a byte of a response.
    closed: AtomicU64,
    /// Whether connections are no longer reused, until the end of the run.
    given_up: AtomicBool,
}

impl UsedConnections {
    fn reset(&self) {
        self.answered.store(0, Ordering::Relaxed);
        self.closed.store(0, Ordering::Relaxed);
    }

    /// Stops reusing connections if more requests on used connections ended with a close than with a response. Returns whether connections are no
    /// longer reused.
    fn give_up(&self) -> bool {
        let (answered, closed) = (self.answered.load(Ordering::Relaxed), self.closed.load(Ordering::Relaxed));
        if closed > answered && !self.given_up.swap(true, Ordering::Relaxed) {
            warn!(
                closed,
                answered,
                "the server promises to keep connections open, but closes them when the next request comes; from now on each request has a new connection"
            );
        }
        self.given_up.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(crate) struct ClientGroup {
    load: Resends,
    /// Probes are counted separately, so that their resends do not use up the resends of the load.
    probes: Resends,
    used: UsedConnections,
    lacks_files: AtomicBool,
}

impl ClientGroup {
    /// Resets the counts, because the number of requests in a stage bounds its resends. The finding that a server does not keep connections
    /// is kept.
    pub(crate) fn begin_stage(&self) {
        self.load.reset();
        self.probes.reset();
        self.used.reset();
        self.lacks_files.store(false, Ordering::Relaxed);
    }

    fn resends(&self, is_probe: bool) -> &Resends {
        if is_probe { &self.probes } else { &self.load }
    }

    pub(super) fn count_request(&self, is_probe: bool) {
        self.resends(is_probe).requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a response on a connection that had carried a response before.
    pub(super) fn count_reuse(&self) {
        self.used.answered.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a connection that has carried a response may carry further requests.
    pub(super) fn reuses_connections(&self) -> bool {
        !self.used.given_up.load(Ordering::Relaxed)
    }

    /// Returns whether a request is sent again after its connection ended without a response; if not, it fails. `was_used` states whether the
    /// connection had carried a response before. The number of resends is limited to what closed keep-alive connections can explain. If it is
    /// exceeded, and most requests on used connections ended like this, the server keeps no connections. Then connections are no longer reused, and
    /// requests on used connections can be sent again.
    pub(super) fn may_resend(&self, is_probe: bool, was_used: bool) -> bool {
        if was_used {
            self.used.closed.fetch_add(1, Ordering::Relaxed);
        }
        self.resends(is_probe).take() || was_used && self.used.give_up()
    }

    pub(super) fn note_lack_of_files(&self) {
        self.lacks_files.store(true, Ordering::Relaxed);
    }

    /// Whether the process ran out of file descriptors in this stage. If so, no spare connections are opened, and idle connections are
    /// closed in favour of waiting requests.
    pub(super) fn lacks_files(&self) -> bool {
        self.lacks_files.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many of `requests` requests can be sent again if each of them needs it.
    fn check(requests: u64) -> usize {
        let group = ClientGroup::default();
        let asks = |_| {
            group.count_request(false);
            group.may_resend(false, false)
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
        assert_eq!((0..5).filter(|_| group.may_resend(false, false)).count(), 3);
        // Probes have a separate bound.
        assert_eq!((0..5).filter(|_| group.may_resend(true, false)).count(), 3);
        group.begin_stage();
        assert!(group.may_resend(false, false) && group.may_resend(true, false));
    }

    /// Checks whether connections are still reused after a number of answers and closures on used connections.
    fn check_reuse(answered: usize, closed: usize, expected: bool) -> ClientGroup {
        let group = ClientGroup::default();
        (0..answered).for_each(|_| group.count_reuse());
        let resent = (0..closed).filter(|_| group.may_resend(false, true)).count();
        assert_eq!((group.reuses_connections(), resent == closed), (expected, closed <= 3 || !expected));
        group
    }

    #[test]
    fn connections_are_given_up_when_most_of_them_are_closed_and_keep_alive_does_not_explain_it() {
        check_reuse(0, 3, true);
        check_reuse(0, 4, false);
        check_reuse(3, 4, false);
        check_reuse(4, 4, true);
        check_reuse(100, 90, true);
        // Whether connections are reused depends on the server, so a new stage does not reset it. The limit on resends now applies, because all
        // connections are new.
        let group = check_reuse(0, 4, false);
        group.begin_stage();
        assert!(!group.reuses_connections());
        assert_eq!((0..5).filter(|_| group.may_resend(false, false)).count(), 3);
    }
}
