//! The server's record of a trial. Pure.
//!
//! Times are in nanoseconds on the machine's monotonic clock.

use serde::{Deserialize, Serialize};

/// What a server recorded in a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Truth {
    /// The requests that had a run id, in the order of their arrival.
    pub requests: Vec<RequestTruth>,
    /// CPU time of the server, user and system.
    pub cpu_ns: u64,
    /// 99th percentile of how late tokens were sent. If it is too high, the load was not as intended.
    pub lateness_p99_ns: u64,
    /// Number of sends that a socket did not accept immediately. Their recorded times differ from the times on the wire.
    pub stalled: u64,
    /// Maximum number of concurrent answers.
    pub most_streams: u32,
}

/// What a server recorded about one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestTruth {
    /// The stage that the request belongs to.
    pub stage: u32,
    /// Number of the request in its stage.
    pub number: u64,
    /// When the last byte of the request was read.
    pub arrived_ns: u64,
    /// The time just before each token was sent. For an answer in one piece: the time just before the whole answer was sent.
    pub sends_ns: Vec<u64>,
}

/// Parses stage and number in an `x-request-id` of the form `bw-<run>-<stage>-<number>`. The number of a turn can follow.
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
