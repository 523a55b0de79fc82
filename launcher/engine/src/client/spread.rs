//! Chooses which of several servers gets a request. Pure.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crds::benchmark_run::Distribution;

/// Spreads requests over servers of the same kind. All threads of a load share one instance.
#[derive(Debug)]
pub struct Spread {
    distribution: Distribution,
    /// Number of choices made so far.
    next: AtomicUsize,
    servers: Vec<Server>,
}

#[derive(Debug, Default)]
struct Server {
    under_way: AtomicUsize,
    requests: AtomicU64,
}

impl Spread {
    /// `servers` is the number of servers, at least one.
    pub fn new(distribution: Distribution, servers: usize) -> Spread {
        let servers = (0..servers.max(1)).map(|_| Server::default()).collect();
        Spread { distribution, next: AtomicUsize::new(0), servers }
    }

    /// Returns the number of requests that each server got.
    pub fn requests(&self) -> Vec<u64> {
        self.servers.iter().map(|it| it.requests.load(Ordering::Relaxed)).collect()
    }

    /// Chooses the server of the next request. The request counts as in flight until the returned value is dropped. `pinned` is the index of the
    /// server that the request must use.
    pub(super) fn choose(&self, pinned: Option<usize>) -> Chosen<'_> {
        let index = pinned.filter(|it| *it < self.servers.len()).unwrap_or_else(|| self.pick());
        let server = &self.servers[index];
        server.under_way.fetch_add(1, Ordering::Relaxed);
        server.requests.fetch_add(1, Ordering::Relaxed);
        Chosen { spread: self, index }
    }

    fn pick(&self) -> usize {
        let count = self.servers.len();
        let first = self.next.fetch_add(1, Ordering::Relaxed) % count;
        match self.distribution {
            Distribution::RoundRobin => first,
            // Ties are broken in turn, so that an idle group of servers is used evenly.
            Distribution::LeastOutstanding => {
                let load = |it: &usize| self.servers[*it].under_way.load(Ordering::Relaxed);
                (first..first + count).map(|it| it % count).min_by_key(load).unwrap_or(first)
            }
        }
    }
}

/// Represents a request in flight at a server.
#[derive(Debug)]
pub(super) struct Chosen<'a> {
    spread: &'a Spread,
    pub(super) index: usize,
}

/// Ends the count of a request, even if the request is cancelled.
impl Drop for Chosen<'_> {
    fn drop(&mut self) {
        self.spread.servers[self.index].under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_robin_gives_each_server_its_turn_whatever_is_under_way() {
        let spread = Spread::new(Distribution::RoundRobin, 3);
        let chosen: Vec<_> = (0..7).map(|_| spread.choose(None)).collect();
        assert_eq!(chosen.iter().map(|it| it.index).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(spread.requests(), [3, 2, 2]);
    }

    #[test]
    fn threads_that_take_turns_part_a_batch_exactly() {
        let spread = Spread::new(Distribution::RoundRobin, 8);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..2_000).for_each(|_| drop(spread.choose(None))));
            }
        });
        assert_eq!(spread.requests(), [1_000; 8]);
    }

    #[test]
    fn a_server_that_is_slow_gets_less_and_one_that_is_done_gets_more() {
        let spread = Spread::new(Distribution::LeastOutstanding, 3);
        let (slow, done, other) = (spread.choose(None), spread.choose(None), spread.choose(None));
        assert_eq!([slow.index, done.index, other.index], [0, 1, 2]);
        drop(done);
        let next: Vec<_> = (0..4).map(|_| spread.choose(None)).collect();
        assert_eq!(next[0].index, 1, "it alone has none");
        let mut rest: Vec<_> = next[1..].iter().map(|it| it.index).collect();
        rest.sort_unstable();
        assert_eq!(rest, [0, 1, 2], "then all have one");
    }

    #[test]
    fn idle_servers_are_used_evenly() {
        let spread = Spread::new(Distribution::LeastOutstanding, 3);
        (0..9).for_each(|_| drop(spread.choose(None)));
        assert_eq!(spread.requests(), [3, 3, 3]);
    }

    #[test]
    fn a_request_that_belongs_to_a_server_goes_there() {
        let spread = Spread::new(Distribution::RoundRobin, 2);
        assert_eq!([spread.choose(Some(1)).index, spread.choose(Some(9)).index], [1, 0]);
    }
}
