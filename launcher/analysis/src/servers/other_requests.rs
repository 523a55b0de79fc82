//! Requests that a server finished during the run, but that other clients sent. Pure.

use server_metrics::series::FinishedRequests;

/// Tolerated difference in requests. It covers a readiness probe that the server counts late, and a request that was sent twice.
const FEW_REQUESTS: f64 = 2.0;
/// Tolerated difference, as a share of the server's requests.
const FEW_SHARE: f64 = 0.01;

/// The server that finished the most requests of other clients.
///
/// `others` is a lower bound, so that requests of the run itself are never reported as another client's. It is the server's count minus:
///
/// - all requests of the run, including those that failed, were cut off, or went to another server. With separate prefill and decode, two servers
///   finish the same request. So each server is compared separately, and the counts of servers are never added;
/// - the requests in flight before the run began, such as requests of an earlier attempt, even if another client sent them.
///
/// A remainder of at most two requests, or of at most 1 % of the server's count, counts as zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OtherRequests {
    /// The index of the server's address in the store.
    pub address: usize,
    /// Number of servers that were compared.
    pub servers: usize,
    /// All requests that this server finished.
    pub finished: f64,
    /// Lower bound of the requests in `finished` that other clients sent. 0: there can be none.
    pub others: f64,
}

impl OtherRequests {
    /// Finds the server. `most_requests` is the maximum number of requests that a server can have finished for this run. `None` if no server counts
    /// requests.
    pub(super) fn find(servers: &[FinishedRequests], most_requests: u64) -> Option<OtherRequests> {
        let all = servers.iter().map(|it| {
            let more = it.finished - it.earlier - most_requests as f64;
            let is_certain = more > FEW_REQUESTS && more > it.finished * FEW_SHARE;
            let others = if is_certain { more } else { 0.0 };
            OtherRequests { address: it.address, servers: servers.len(), finished: it.finished, others }
        });
        all.reduce(|most, it| if it.others > most.others { it } else { most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(servers: &[(f64, f64)], most_requests: u64, expected: Option<(usize, f64)>) {
        let servers: Vec<_> = (0..)
            .zip(servers)
            .map(|(address, (finished, earlier))| FinishedRequests { address, finished: *finished, earlier: *earlier })
            .collect();
        let found = OtherRequests::find(&servers, most_requests);
        assert_eq!(found.map(|it| (it.address, it.others)), expected, "{servers:?} {most_requests}");
    }

    #[test]
    fn a_surplus_is_of_other_clients_and_a_small_one_is_not() {
        check(&[(2_000.0, 0.0)], 1_760, Some((0, 240.0)));
        for ours in [1_760, 2_000, 5_000] {
            check(&[(1_760.0, 0.0)], ours, Some((0, 0.0)));
        }
        // The tolerance is two requests, or 1 %.
        check(&[(102.0, 0.0)], 100, Some((0, 0.0)));
        check(&[(103.0, 0.0)], 100, Some((0, 3.0)));
        check(&[(2_020.0, 0.0)], 2_000, Some((0, 0.0)));
        check(&[(2_021.0, 0.0)], 2_000, Some((0, 21.0)));
        check(&[(4.0, 0.0)], 0, Some((0, 4.0)));
    }

    #[test]
    fn requests_that_were_under_way_before_the_run_are_not_counted() {
        check(&[(140.0, 40.0)], 100, Some((0, 0.0)));
        check(&[(150.0, 40.0)], 100, Some((0, 10.0)));
    }

    #[test]
    fn servers_that_share_each_request_have_no_surplus() {
        // With separate prefill and decode, each of the two servers counts all requests of the run.
        check(&[(1_000.0, 0.0), (1_000.0, 0.0)], 1_000, Some((0, 0.0)));
        check(&[(1_000.0, 0.0), (1_300.0, 0.0), (1_100.0, 0.0)], 1_000, Some((1, 300.0)));
        check(&[], 1_000, None);
    }
}
