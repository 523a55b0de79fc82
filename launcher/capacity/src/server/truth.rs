//! Truth: the server's record of a trial. Pure.
//!
//! Times are nanoseconds of the machine's monotonic clock.

use serde::{Deserialize, Serialize};

/// The record of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Truth {
    /// The requests with a run id, in the order of their arrival.
    pub requests: Vec<RequestTruth>,
    /// CPU time, user and system.
    pub cpu_ns: u64,
    /// 99th percentile of the lateness of its sends: beyond a limit the load was not the requested one.
    pub lateness_p99_ns: u64,
    /// Sends that a socket did not accept immediately: their recorded times differ from the times on the wire.
    pub stalled: u64,
    /// The maximum number of concurrent answers.
    pub most_streams: u32,
}

/// The record of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestTruth {
    /// The stage of its run.
    pub stage: u32,
    /// The number of the request in the stage.
    pub number: u64,
    /// When its last byte was read.
    pub arrived_ns: u64,
    /// The time just before each token was sent; for an answer in one piece, the time just before the whole answer.
    pub sends_ns: Vec<u64>,
}

/// Stage and number from an `x-request-id`, which is `bw-<run>-<stage>-<number>`, and may end with a turn.
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
