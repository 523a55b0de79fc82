//! Assigns the requests of a load to the workers that have their sessions. Pure.

/// Iterates over the request numbers of one worker, in order. A session stays on one worker. In a closed loop, each worker gets sessions in
/// proportion to its slots.
#[derive(Clone, Debug)]
pub(super) struct Share {
    next: u64,
    count: u64,
    /// Number of distinct sessions; `None` means that each number is a separate session.
    sessions: Option<u64>,
    /// Number of slots in a closed loop; `None` in an open loop.
    slots: Option<u64>,
    worker: u64,
    workers: u64,
}

impl Share {
    /// Creates one worker's share of `count` requests in `sessions` distinct sessions. The last argument is the worker's index and the
    /// number of workers.
    pub(super) fn new(
        count: u64,
        sessions: Option<u64>,
        slots: Option<u64>,
        (worker, workers): (usize, usize),
    ) -> Share {
        let worker = worker as u64;
        let places = sessions.unwrap_or(u64::MAX).min(slots.unwrap_or(u64::MAX));
        // If there are more workers than sessions or slots, the surplus workers have no request, and need not search for one.
        let next = if worker < places { 0 } else { count };
        Share { next, count, sessions, slots, worker, workers: workers.max(1) as u64 }
    }

    /// Whether no number remains.
    pub(super) fn is_empty(&self) -> bool {
        self.clone().next().is_none()
    }

    fn is_mine(&self, number: u64) -> bool {
        let session = number % self.sessions.unwrap_or(u64::MAX).max(1);
        session % self.slots.unwrap_or(u64::MAX).max(1) % self.workers == self.worker
    }
}

impl Iterator for Share {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        // A short search: if the worker has a session, one of a few consecutive numbers belongs to it.
        let mine = (self.next..self.count).find(|it| self.is_mine(*it));
        self.next = mine.map_or(self.count, |it| it + 1);
        mine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sessions: Option<u64>, slots: Option<u64>, workers: usize, expected: &[&[u64]]) {
        let of_worker = |worker| Share::new(8, sessions, slots, (worker, workers)).collect::<Vec<_>>();
        assert_eq!((0..workers).map(of_worker).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_session_stays_on_one_worker() {
        check(Some(3), None, 2, &[&[0, 2, 3, 5, 6], &[1, 4, 7]]);
        check(None, None, 2, &[&[0, 2, 4, 6], &[1, 3, 5, 7]]);
        // A worker without a slot gets no session, and a worker with two slots gets twice as many as a worker with one.
        check(Some(8), Some(1), 2, &[&[0, 1, 2, 3, 4, 5, 6, 7], &[]]);
        check(Some(6), Some(3), 2, &[&[0, 2, 3, 5, 6], &[1, 4, 7]]);
    }

    #[test]
    fn a_worker_without_a_session_looks_for_none() {
        for (sessions, slots) in [(Some(2), None), (None, Some(2)), (Some(9), Some(2)), (Some(2), Some(9))] {
            let of_worker = |worker| Share::new(u64::MAX, sessions, slots, (worker, 3));
            assert!(of_worker(2).is_empty() && !of_worker(1).is_empty(), "{sessions:?} {slots:?}");
            assert_eq!((of_worker(1).next(), of_worker(2).next()), (Some(1), None));
        }
        let mut share = Share::new(3, None, None, (0, 2));
        assert_eq!([share.next(), share.next(), share.next()], [Some(0), Some(2), None]);
        assert!(share.is_empty() && share.next == 3);
    }
}
