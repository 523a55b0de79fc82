//! Truth: what the server of a trial did, and when. Pure.
//!
//! Times are nanoseconds of the machine's monotonic clock.

use serde::{Deserialize, Serialize};

/// What a server did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Truth {
    /// The requests with an id of a run, in the order of their arrival.
    pub requests: Vec<RequestTruth>,
    /// CPU time, user and system.
    pub cpu_ns: u64,
    /// 99th percentile of how late it sent what was due: past the pace, the load was another one.
    pub lateness_p99_ns: u64,
    /// Sends that a socket did not take at once: their times are not those of the wire.
    pub stalled: u64,
    /// Answers that were under way at once, at most.
    pub most_streams: u32,
}

/// What became of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestTruth {
    /// The stage of its run.
    pub stage: u32,
    /// Its number in the stage.
    pub number: u64,
    /// When its last byte had been read.
    pub arrived_ns: u64,
    /// Just before each token was sent; just before the whole answer where it is sent at once.
    pub sends_ns: Vec<u64>,
}

/// Stage and number of the request with this `x-request-id`, which is `bw-<run>-<stage>-<number>`, and may end in a turn.
pub(super) fn place(id: &str) -> Option<(u32, u64)> {
    let mut parts = id.strip_prefix("bw-")?.split('-').skip(1);
    let stage = parts.next()?.parse().ok()?;
    let number = parts.next()?.parse().ok()?;
    Some((stage, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_request_tells_its_place() {
        assert_eq!(place("bw-0a1b2c3d-2-74999"), Some((2, 74_999)));
        for other in ["", "bw-", "bw-1", "bw-2-3", "bw-x-y-z", "bw-x-1-", "req-x-1-2"] {
            assert_eq!(place(other), None, "{other}");
        }
    }
}
