//! A round of scrapes before or after a load. It scrapes every address once. If a server is still busy then, a second round follows. Pure.

use std::{collections::BTreeSet, sync::mpsc::SyncSender, time::Duration};

/// A round that the launcher waits for.
#[derive(Debug)]
pub(super) struct Edge {
    done: SyncSender<()>,
    /// Addresses whose scrape for this round has not ended yet.
    left: BTreeSet<usize>,
    /// When the second round begins; `None` if no second round is planned.
    pub(super) again: Option<Duration>,
    /// Whether there can be a second round.
    settles: bool,
}

impl Edge {
    pub(super) fn new(done: SyncSender<()>, settles: bool, endpoints: impl Iterator<Item = usize>) -> Edge {
        Edge { done, left: endpoints.collect(), again: None, settles }
    }

    /// Whether the next scrape of an address belongs to this round.
    pub(super) fn wants(&self, endpoint: usize) -> bool {
        self.left.contains(&endpoint)
    }

    /// Adds an address that was discovered during the round.
    pub(super) fn add(&mut self, endpoint: usize) {
        self.left.insert(endpoint);
    }

    /// Records that a scrape of this round has ended, or will not happen.
    pub(super) fn end(&mut self, endpoint: usize) {
        self.left.remove(&endpoint);
    }

    /// Whether every address was scraped.
    pub(super) fn is_over(&self) -> bool {
        self.left.is_empty() && self.again.is_none()
    }

    /// Decides after the first round whether a second one is needed. If so, it begins at `at`.
    pub(super) fn settle(&mut self, busy: bool, at: Duration) -> bool {
        let second = self.settles && busy;
        self.settles = false;
        self.again = second.then_some(at);
        second
    }

    /// Begins the second round, with these addresses.
    pub(super) fn begin_again(&mut self, endpoints: impl Iterator<Item = usize>) {
        self.again = None;
        self.left = endpoints.collect();
    }

    /// Notifies the launcher that the round is over.
    pub(super) fn answer(self) {
        // Sending fails only if the launcher has stopped waiting.
        let _ = self.done.try_send(());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_busy_server_is_scraped_a_second_time_and_no_third() {
        let (done, waiting) = mpsc::sync_channel(1);
        let mut edge = Edge::new(done, true, 0..2);
        edge.end(0);
        assert!(!edge.is_over() && edge.wants(1));
        edge.end(1);
        assert!(edge.is_over() && edge.settle(true, Duration::from_secs(1)));
        assert!(!edge.is_over());
        edge.begin_again(0..2);
        (0..2).for_each(|it| edge.end(it));
        assert!(edge.is_over() && !edge.settle(true, Duration::from_secs(2)));
        edge.answer();
        assert_eq!(waiting.try_recv(), Ok(()));
    }
}
