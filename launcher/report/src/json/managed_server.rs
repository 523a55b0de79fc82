//! The server that was started for the run.

use crds::{
    benchmark_run::{Distribution, Lifecycle, ServerEngine},
    wording::one_line,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The server that was started for the run, or found running, and what became of it. Commands and words of the server have no secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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
    pub end: Option<EndDocument>,
}

/// One replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_ms: Option<u64>,
    /// The requests of the load that it got, with those that were sent again; absent: there is one replica.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// How it ended; absent: it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
    /// Whether it ended without being asked to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub died: bool,
    /// What the kernel counted of processes that it ended for want of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_memory: Option<String>,
    /// Its last words, where it died.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_words: Vec<String>,
    /// Its log in the results folder; absent: none is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// What the log lacks or hides, in words; absent: nothing, or it is not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_note: Option<String>,
}

/// What was left after the end of the processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndDocument {
    /// Processes that did not end by SIGTERM in time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub killed: Vec<String>,
    /// Processes outside of the process groups that were ended, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// Files of shared memory that were deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted_shared_memory: Vec<String>,
    /// What is still there. Empty: nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remains: Vec<String>,
}

impl ManagedServerDocument {
    /// Notes how many requests each replica got; an empty list: there is one.
    pub fn count_requests(&mut self, requests: &[u64]) {
        for (replica, count) in self.replicas.iter_mut().zip(requests) {
            replica.requests = Some(*count);
        }
    }
}

impl EndDocument {
    /// What happened beyond the usual, in sentences. Empty: all ended as asked, and nothing was left.
    pub fn notes(&self) -> Vec<String> {
        let all = |it: &[String]| one_line(&it.join(", "));
        let mut notes = Vec::new();
        if !self.killed.is_empty() {
            notes.push(format!("SIGTERM did not end these processes, and SIGKILL did: {}", all(&self.killed)));
        }
        if !self.left_behind.is_empty() {
            notes.push(format!("it left processes outside of its group, which were ended: {}", all(&self.left_behind)));
        }
        if !self.deleted_shared_memory.is_empty() {
            notes.push(format!("it left shared memory, which was deleted: {}", all(&self.deleted_shared_memory)));
        }
        if !self.remains.is_empty() {
            notes.push(format!("this could not be removed, look after it: {}", all(&self.remains)));
        }
        notes
    }
}
