//! The JSON messages between the processes of a trial. Server and client are separate processes, so that the CPU time and memory of each
//! are known. Pure.
//!
//! Times are in nanoseconds on the monotonic clock, which all processes of a machine share.

use std::{collections::BTreeMap, time::Duration};

use crds::resolve::ResolvedRun;
use serde::{Deserialize, Serialize};
use workload_profiles::Workload;

use crate::server::Pace;
use measurement::recorder::Keep;

/// What a child process does. It is the argument of the hidden command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// Run the server, and print its record at the end.
    Server(ServerSpec),
    /// Run a workload with the launcher's engine.
    Engine(Box<EngineSpec>),
}

/// The settings of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerSpec {
    /// How fast the server answers.
    pub pace: Pace,
    /// The CPU core to run on; `None` for any core.
    pub core: Option<usize>,
}

/// The first line that a server prints.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Listening {
    /// The port that the server listens on, on loopback.
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineSpec {
    /// The port of the server, on loopback.
    pub port: u16,
    /// The load to run.
    pub workload: Workload,
    /// What the engine keeps of each request, see [`Keep`].
    pub keep: Keep,
    /// The run that the load belongs to. The launcher needs it to judge its own measurement; `None` if it does not have to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<ResolvedRun>>,
    /// Number of worker threads.
    pub threads: usize,
    /// The CPU core to run on; `None` for any core.
    pub core: Option<usize>,
}

/// The result of a client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientResult {
    /// CPU time of the client process, user and system, from before its first connection until after its last byte.
    pub cpu_ns: u64,
    /// Wall-clock time of the same period.
    pub wall_ns: u64,
    /// Peak resident memory of the client process, in bytes.
    pub peak_rss_bytes: u64,
    /// Number of requests per outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// The error message of one failed request; `None` if none failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The fraction of time in which the busiest thread needed a CPU; `None` if the load was not judged, or was too short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest: Option<f64>,
    /// 99th percentile of the receive delay; `None` if the load was not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_delay_p99_ns: Option<u64>,
    /// The successful requests. Empty if requests are not kept.
    pub requests: Vec<ClientRequest>,
}

/// The times of one request, as measured by the client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientRequest {
    pub stage: u32,
    /// Number of the request in its stage.
    pub number: u64,
    pub scheduled_ns: u64,
    /// Time that the request waited for a permit; 0 without a concurrency limit.
    pub queued_ns: u64,
    /// When the request was handed to the socket.
    pub sent_ns: u64,
    /// When its first token arrived.
    pub first_ns: u64,
    /// When its last token arrived.
    pub last_ns: u64,
    /// Times between consecutive tokens. Empty if they are not kept.
    pub gaps_ns: Vec<u64>,
}

/// Converts to nanoseconds. The result is limited to 64 bits, hundreds of years.
pub fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
