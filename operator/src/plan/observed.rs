//! All that a decision needs beside the run itself.

use crds::{Reason, ResolvedRun};
use jiff::Timestamp;

/// All that a decision needs beside the run itself.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// What the launcher would be given; `None` when the phase needs it no more.
    pub input: Option<Result<LauncherInput, InputError>>,
    /// Whether the ConfigMap of the current attempt is there.
    pub config_map: Presence,
    /// The claim of the results.
    pub claim: ClaimState,
    /// The Job of the current attempt.
    pub job: JobState,
    /// Its pod.
    pub pod: PodState,
    /// The names of other pods that the Job has or left behind, and that have not ended.
    pub other_pods: Vec<String>,
    /// Two pods could be the attempt's, so that `pod` is neither.
    pub ambiguous: bool,
    /// How its container ended, when that has been seen, though the pod may be gone.
    pub ended: Option<Ended>,
    /// What the API server said when it refused to create a child in this very turn.
    pub refused: Option<Refused>,
}

/// A child that the API server did not want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Which child, and the API server's words.
    pub message: String,
    /// It will never want it: the object itself is wrong, not the moment.
    pub for_good: bool,
}

/// What the launcher is given.
#[derive(Clone, Debug, PartialEq)]
pub struct LauncherInput {
    /// `run.yaml`; its attempt is the one to come.
    pub run: ResolvedRun,
    /// `profile.yaml`.
    pub profile: String,
    /// SHA-256 of it, in hex.
    pub profile_sha256: String,
}

/// Why a spec gives nothing that a launcher could be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// In one word.
    pub reason: Reason,
    /// Field, value and remedy, a line for each problem.
    pub message: String,
}

/// Whether an object of a name that this run needs is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// It is not.
    #[default]
    Absent,
    /// It is, and belongs to this run.
    Ours,
    /// It is, and belongs to somebody else.
    Foreign,
}

/// The claim of the results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimState {
    /// It is there.
    pub exists: bool,
    /// A volume is bound to it.
    pub bound: bool,
    /// Its StorageClass.
    pub class: String,
}

/// The Job of the current attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobState {
    /// Whether it is there.
    pub presence: Presence,
    /// Its UID, when it is ours.
    pub uid: Option<String>,
    /// The reason of its condition Failed, once it holds.
    pub failed: Option<String>,
    /// Its condition Complete holds.
    pub complete: bool,
    /// Somebody has asked to delete it.
    pub deleting: bool,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// When it completed or failed.
    pub ended_at: Option<Timestamp>,
}

/// The pod of the current attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodState {
    /// Its name; `None` when there is none.
    pub name: Option<String>,
    /// Its UID.
    pub uid: Option<String>,
    /// Its node; empty while it has none.
    pub node: String,
    /// The image of its container as the node names it; empty before the container has run.
    pub image_id: String,
    /// Its container is ready: the launcher measures.
    pub ready: bool,
    /// Its container runs.
    pub running: bool,
    /// Somebody has asked to delete it: when its grace period is over.
    pub deleting: Option<Timestamp>,
    /// Why it has no node.
    pub unschedulable: Option<String>,
    /// Why its container waits: the kubelet's reason and message.
    pub waiting: Option<(String, String)>,
}

/// How the launcher's container ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its exit status.
    pub exit_code: i32,
    /// The kubelet's reason, such as `OOMKilled`.
    pub reason: String,
    /// The termination message: the envelope, or the end of the log.
    pub message: String,
    /// The pod was evicted, preempted or lost with its node.
    pub disrupted: Option<String>,
}
