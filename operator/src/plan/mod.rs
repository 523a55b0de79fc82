//! Run + observed + now -> plan: wanted objects, wanted status, next look. Pure: no clock, no client.

mod attempt_end;
mod attempt_progress;
mod attempt_start;
mod cancel;
pub mod config_map;
mod decision;
pub mod job;
pub mod meta;
mod observed;
pub mod pvc;
pub mod status;
mod termination_message;

use std::time::Duration;

use crds::{BenchmarkRunStatus, Reason};
use jiff::Timestamp;
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ConfigMap, PersistentVolumeClaim},
};

pub use decision::{current_attempt, plan};
pub use observed::{ClaimState, Ended, InputError, JobState, LauncherInput, Observed, PodState, Presence, Refused};

/// What is to be done.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Objects to create, in this order. One that exists already and is ours is as good as created.
    pub create: Vec<Child>,
    /// How to end what runs.
    pub stop: Option<Stop>,
    /// Pods to ask to end beside that.
    pub stop_pods: Vec<String>,
    /// The wanted status.
    pub status: BenchmarkRunStatus,
    /// What to tell people about, after the status is written.
    pub event: Option<PlannedEvent>,
    /// Delete the run itself: its time after the finish is over.
    pub delete_run: bool,
    /// Plan once more right after the status is written.
    pub again: bool,
    /// When to look again without being told.
    pub next_look: Option<Duration>,
}

/// An object to create.
#[derive(Clone, Debug)]
pub enum Child {
    /// What the launcher is given.
    ConfigMap(Box<ConfigMap>),
    /// Where results are kept; shared, so that one of anybody's is good.
    Claim(Box<PersistentVolumeClaim>),
    /// The attempt.
    Job(Box<Job>),
}

/// How to end what runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Ask the pod to end: it gets SIGTERM, drains and reports.
    Pod(String),
    /// Delete the pod at once, and the Job with it.
    PodAndJobNow {
        /// The pod, if there is one.
        pod: Option<String>,
        /// The Job.
        job: String,
    },
    /// Delete the Job; it is gone when its pods are.
    Job(String),
}

/// Something that a person may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedEvent {
    /// A Warning, not a Normal one.
    pub warning: bool,
    /// In one word.
    pub reason: Reason,
    /// In a sentence.
    pub note: String,
}

/// What the pure core is told beside the run and what was observed.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// What this place decides.
    pub settings: &'a crds::Settings,
    /// The time.
    pub now: Timestamp,
}
