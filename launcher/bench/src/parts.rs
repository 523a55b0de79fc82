//! What the processes of this bench ask and tell each other, as JSON: each side of a comparison is a process of its own, so
//! that its CPU time and memory are its own. Pure.
//!
//! Times are nanoseconds of the machine's monotonic clock, which all its processes share.

use std::{collections::BTreeMap, path::PathBuf};

use crds::resolve::ResolvedRun;
use serde::{Deserialize, Serialize};
use workload_profiles::Workload;

use super::server::ServerSpec;
use engine::recorder::Keep;

/// What a child process is to do: the argument of the hidden command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// Serve, and tell the truth at the end.
    Server(ServerSpec),
    /// Issue a workload with the launcher's engine.
    Engine(Box<EngineSpec>),
    /// Read the same streams with hyper alone.
    Bare(BareSpec),
    /// Make the report of a run.
    Report(ReportSpec),
}

/// A load for the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EngineSpec {
    /// The port of the server.
    pub port: u16,
    /// The load.
    pub workload: Workload,
    /// What is kept of each request.
    pub keep: Keep,
    /// The run whose load it is, for what the launcher says of itself; absent: that is not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Box<ResolvedRun>>,
    /// Threads that issue it.
    pub threads: usize,
    /// The core to which it keeps; absent: any.
    pub core: Option<usize>,
}

/// A closed loop for the bare client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BareSpec {
    /// The port of the server.
    pub port: u16,
    /// Connections, each with a request under way at all times.
    pub streams: u32,
    /// Requests of each connection.
    pub rounds: u32,
    /// Tokens of each answer.
    pub tokens: u32,
    /// The core to which it keeps; absent: any.
    pub core: Option<usize>,
}

/// A report to make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportSpec {
    /// A BenchmarkRun file.
    pub file: PathBuf,
    /// The folder that gets the report.
    pub folder: PathBuf,
    /// Requests that it tells of.
    pub requests: u64,
}

/// What a client came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientResult {
    /// CPU time of its process, user and system, from before its first connection to after its last byte.
    pub cpu_ns: u64,
    /// The time between.
    pub wall_ns: u64,
    /// The largest resident set of its process, in bytes.
    pub peak_rss_bytes: u64,
    /// Requests by what became of them.
    pub outcomes: BTreeMap<String, u64>,
    /// The message of a request that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The share of the time in which its busiest thread could not have done more, where it was asked and lasted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest: Option<f64>,
    /// 99th percentile of how long bytes may have lain before they were read, where it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_delay_p99_ns: Option<u64>,
    /// Each request that succeeded; empty where none is kept.
    pub requests: Vec<ClientRequest>,
}

/// What a client saw of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientRequest {
    /// The stage of its run.
    pub stage: u32,
    /// Its number in the stage.
    pub number: u64,
    /// When it was due.
    pub scheduled_ns: u64,
    /// How long it waited for others to end, where the load bounds how many are under way.
    pub queued_ns: u64,
    /// When it was handed to the socket.
    pub sent_ns: u64,
    /// When its first token arrived.
    pub first_ns: u64,
    /// When its last token arrived.
    pub last_ns: u64,
    /// The gaps between its tokens; empty where they are not kept.
    pub gaps_ns: Vec<u64>,
}

/// What making a report came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportResult {
    /// From the end of the load to a folder that is whole.
    pub wall_ns: u64,
}
