//! The server that was started for the run.

use crds::{
    benchmark_run::{Distribution, Lifecycle, ServerEngine},
    leftovers::Leftovers,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The server that was started for the run, or found running, and what became of it. Commands and words of the server have no secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedServerDocument {
    /// Which program it is.
    pub engine: ServerEngine,
    /// How long it lives.
    pub lifecycle: Lifecycle,
    /// Whether it ran before this run.
    pub reused: bool,
    /// Which replica a request went to.
    pub distribution: Distribution,
    /// Options that this release does not know, and that were passed on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_options: Vec<String>,
    /// The replicas in their order.
    pub replicas: Vec<ReplicaDocument>,
    /// What was left after the end, and what was done about it; absent: it was not ended with this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Leftovers>,
    /// Whether it ran in pods, which the operator started before the launcher.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_pods: bool,
    /// What is not known of it, and why, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One replica.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaDocument {
    /// Where it was called.
    pub url: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The process, and its process group.
    pub pid: i32,
    /// When it was started.
    pub started: Timestamp,
    /// From the start until it was ready to be measured, in milliseconds; absent: it was ready before this run.
    pub ready_ms: Option<u64>,
    /// The requests of the load that it got, with those that were sent again; absent: there is one replica.
    pub requests: Option<u64>,
    /// How it ended; absent: it runs on.
    pub exit: Option<String>,
    /// Whether it ended without being asked to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub died: bool,
    /// What the kernel counted of processes that it ended for want of memory.
    pub out_of_memory: Option<String>,
    /// Its last words, where it died.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_words: Vec<String>,
    /// Its log in the results folder; absent: none is kept.
    pub log: Option<String>,
    /// What the log lacks or hides, in words; absent: nothing, or it is not known yet.
    pub log_note: Option<String>,
}

impl ManagedServerDocument {
    /// Notes how many requests each replica got; an empty list: there is one.
    pub fn count_requests(&mut self, requests: &[u64]) {
        for (replica, count) in self.replicas.iter_mut().zip(requests) {
            replica.requests = Some(*count);
        }
    }
}
