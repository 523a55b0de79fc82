//! All that a decision needs beside the run itself.

use crds::{Reason, ResolvedRun};
use jiff::Timestamp;

/// All that a decision needs beside the run itself.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The launcher's input; `None` in phases that do not need it.
    pub input: Option<Result<LauncherInput, InputError>>,
    /// Whether the ConfigMap of the current attempt exists.
    pub config_map: Presence,
    /// The claim of the results.
    pub claim: ClaimState,
    /// The Job of the current attempt.
    pub job: JobState,
    /// The pod of that Job.
    pub pod: PodState,
    /// Names of other pods that the Job controls or left behind and that have not ended.
    pub other_pods: Vec<String>,
    /// Two pods could be the launcher's, so that `pod` is neither.
    pub ambiguous: bool,
    /// How the launcher's container ended, if that was seen. The pod itself may be gone.
    pub ended: Option<Ended>,
    /// The API server's refusal to create a child in this turn.
    pub refused: Option<Refused>,
}

/// The API server refused to create a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Names the child and repeats the API server's message.
    pub message: String,
    /// Whether a later try would be refused as well, because the object itself is wrong.
    pub for_good: bool,
}

/// The launcher's input.
#[derive(Clone, Debug, PartialEq)]
pub struct LauncherInput {
    /// Content of `run.yaml`, for the current or next attempt.
    pub run: ResolvedRun,
    /// Content of `profile.yaml`.
    pub profile: String,
    /// SHA-256 of `profile`, in hex.
    pub profile_sha256: String,
}

/// Why there is no input: the spec, the profile, or an object that they name is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The reason that the run fails or waits with.
    pub reason: Reason,
    /// Field, value and remedy; one line for each problem.
    pub message: String,
}

/// Whether an object whose name this run needs exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// It does not exist.
    #[default]
    Absent,
    /// It exists and belongs to this run.
    Ours,
    /// It exists and belongs to somebody else.
    Foreign,
}

/// The claim of the results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimState {
    /// Whether it exists.
    pub exists: bool,
    /// Whether a volume is bound to it.
    pub bound: bool,
    /// Its StorageClass; empty if it names none.
    pub class: String,
}

/// The Job of the current attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobState {
    /// Whether it exists.
    pub presence: Presence,
    /// Its UID, when it is ours.
    pub uid: Option<String>,
    /// Reason of its condition Failed, if that is true.
    pub failed: Option<String>,
    /// Whether its condition Complete is true.
    pub complete: bool,
    /// Whether it is being deleted.
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
    /// Whether its container is ready, which means that the launcher measures.
    pub ready: bool,
    /// Whether its container runs.
    pub running: bool,
    /// If it is being deleted, the end of its grace period.
    pub deleting: Option<Timestamp>,
    /// If it has no node, the scheduler's message.
    pub unschedulable: Option<String>,
    /// If its container waits, the kubelet's reason and message.
    pub waiting: Option<(String, String)>,
}

/// How the launcher's container ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; -1 if the container left none.
    pub exit_code: i32,
    /// The kubelet's reason, such as `OOMKilled`.
    pub reason: String,
    /// The termination message: the envelope, or the end of the log if the launcher wrote no envelope.
    pub message: String,
    /// If the pod was evicted, preempted or lost with its node: reason and message.
    pub disrupted: Option<String>,
}
