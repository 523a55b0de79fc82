//! The messages between the processes of a trial, as JSON. Server and client are separate processes, so that the CPU time and memory of each are
//! known. Pure.
//!
//! Times are nanoseconds of the monotonic clock, which all processes of a machine share.

use std::{collections::BTreeMap, time::Duration};

use crds::resolve::ResolvedRun;
use serde::{Deserialize, Serialize};
use workload_profiles::Workload;

use crate::server::Pace;
use measurement::recorder::Keep;

/// The work of a child process: the argument of the hidden command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// Run the server, and print its record of all sends at the end.
    Server(ServerSpec),
    /// Issue a workload with the launcher's engine.
    Engine(Box<EngineSpec>),
}

/// The configuration of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerSpec {
    /// How fast it is.
    pub pace: Pace,
    /// The core on which the server runs; absent: any core.
    pub core: Option<usize>,
}

/// The first line of a server's output.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Listening {
    /// The port, on loopback.
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineSpec {
    /// The port of the server.
    pub port: u16,
    /// The load.
    pub workload: Workload,
    /// What is kept of each request.
    pub keep: Keep,
    /// The run of this load, from which the launcher judges its own part. `None`: no judgement is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<ResolvedRun>>,
    /// Threads that issue it.
    pub threads: usize,
    /// The core on which the process runs. `None`: any core.
    pub core: Option<usize>,
}

/// The result of a client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientResult {
    /// CPU time of its process, user and system, from before its first connection to after its last byte.
    pub cpu_ns: u64,
    /// Wall-clock time of the same period.
    pub wall_ns: u64,
    /// The largest resident set of its process, in bytes.
    pub peak_rss_bytes: u64,
    /// Number of requests by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// The message of one failed request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The fraction of time in which the busiest thread needed a CPU. `None`: not judged, or the load was too short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest: Option<f64>,
    /// 99th percentile of the receive delay. `None`: not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_delay_p99_ns: Option<u64>,
    /// Each successful request. Empty if requests are not kept.
    pub requests: Vec<ClientRequest>,
}

/// The times of one request at the client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientRequest {
    pub stage: u32,
    /// Number of the request in its stage.
    pub number: u64,
    pub scheduled_ns: u64,
    /// Wait for a permit; zero without a concurrency limit.
    pub queued_ns: u64,
    /// When the request was handed to the socket.
    pub sent_ns: u64,
    /// When its first token arrived.
    pub first_ns: u64,
    /// When its last token arrived.
    pub last_ns: u64,
    /// Times between tokens. Empty if they are not kept.
    pub gaps_ns: Vec<u64>,
}

/// A duration in nanoseconds. The type holds hundreds of years.
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
