//! All inputs of a decision except the run itself.

use jiff::Timestamp;

use super::{
    exclusive::Wait,
    launcher_input::{InputError, LauncherInput},
    network_policy::{Governed, Reach},
    pod_state::{Ended, PodState},
    presence::Presence,
    server::{OtherUse, ServerState},
};

/// Another run's wait for the target or place that an attempt in a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Since when other runs wait.
    pub since: Timestamp,
    /// For how many seconds administrators then let the attempt wait.
    pub limit: u32,
}

/// All inputs of a decision except the run itself.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The launcher's input; `None` in phases that do not need it.
    pub input: Option<Result<LauncherInput, InputError>>,
    /// Whether the ConfigMap of the current attempt exists.
    pub config_map: Presence,
    /// UID of the ConfigMap, if it belongs to the run.
    pub config_map_uid: Option<String>,
    /// The claim of the results.
    pub claim: ClaimState,
    /// The server of the run; read if the status names one.
    pub server: ServerState,
    /// How other runs use the shared server of a finished run; read if the server is due to be removed.
    pub other_use: OtherUse,
    /// Whether the ConfigMap with the values for llm-d's charts exists; read if the charts start the server and the run does not measure
    /// yet.
    pub chart_values: Presence,
    /// Why this turn could not write that ConfigMap.
    pub values_refused: Option<String>,
    /// What the pod of the attempt has to reach; read if the attempt is about to be created.
    pub reach: Reach,
    /// The Job of the current attempt.
    pub job: JobState,
    /// What Kueue reports about that Job; read while the Job waits for a queue.
    pub queue: Option<QueueState>,
    /// The pod of that Job.
    pub pod: PodState,
    /// Names of other pods that the Job controls or left behind and that have not ended.
    pub other_pods: Vec<String>,
    /// Two pods could be the launcher's pod, so `pod` is neither.
    pub ambiguous: bool,
    /// How the launcher's container ended, if that was seen. The pod itself may be gone.
    pub ended: Option<Ended>,
    /// The run's number in line, from 1, if it waits because its namespace has reached its attempt limit.
    pub namespace_line: Option<usize>,
    /// The name of a child that this turn could not create, because another owner's object has the name.
    pub conflict: Option<String>,
    /// Why the run has to wait for its target; `None`: it may begin.
    pub wait: Option<Wait>,
    /// When the run was last made to wait for its target. The wait for its other objects restarts at this time.
    pub last_in_line: Option<Timestamp>,
    /// Which traffic the NetworkPolicies of the namespace restrict.
    pub governed: Governed,
    /// Set if another run waits for the target or the namespace place of this run's attempt, which waits for its queue. Contains since when
    /// and the limit.
    pub wanted: Option<Wanted>,
    /// The API server's refusal to create a child in this turn.
    pub refused: Option<Refused>,
    /// All Jobs of a finished run that are due for deletion; `None` if none are due, or they could not be read.
    pub own_jobs: Option<Vec<OwnJob>>,
    /// Objects that could not be read. The fields above do not show whether these exist.
    pub unread: Vec<Unread>,
}

impl Observed {
    /// Whether a Job or a pod of the last attempt exists.
    pub fn is_attempt_left(&self) -> bool {
        self.job.presence == Presence::Ours || self.pod.name.is_some() || self.ambiguous
    }
}

/// An object that the operator could not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The kind of object.
    pub what: What,
    /// Verb, resource, name, answer and remedy.
    pub message: String,
    /// Whether the cause may disappear by itself, such as a busy API server. A missing right does not.
    pub passing: bool,
}

/// What the operator reads for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The Job of the attempt.
    Job,
    /// The pods of the attempt.
    Pods,
    /// The claim of the results.
    Claim,
    /// ConfigMaps and runs that provide the launcher's input.
    Input,
    /// The queue of the run, and Kueue's object for its Job.
    Queue,
    /// The server of the run, its Services and its pods.
    Server,
}

/// The API server refused to create a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Names the child and repeats the API server's message.
    pub message: String,
    /// Whether a later try would also be refused, because the object itself is wrong.
    pub for_good: bool,
}

/// The claim of the results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimState {
    /// Whether it exists.
    pub exists: bool,
    /// Whether a volume is bound to it.
    pub bound: bool,
    /// The StorageClass of the claim; empty if the claim names none.
    pub class: String,
    /// Whether it exists and is not for results: see [`super::pvc::is_for_results`].
    pub of_others: bool,
}

/// The Job of the current attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobState {
    /// Whether it exists.
    pub presence: Presence,
    /// UID of the Job, if it belongs to the run.
    pub uid: Option<String>,
    /// Reason of its condition Failed, if that is true.
    pub failed: Option<String>,
    /// Whether its condition Complete is true.
    pub complete: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether it is suspended: it creates no pod, and deletes its pod.
    pub suspended: bool,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// When it was last resumed; `None` until the Job controller has recorded a start.
    pub started: Option<Timestamp>,
    /// When it completed or failed.
    pub ended_at: Option<Timestamp>,
}

/// What Kueue reports about a waiting Job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Whether the LocalQueue exists. Without Kueue there is none.
    pub exists: bool,
    /// Why the Job is not admitted, in Kueue's words; empty if Kueue has reported nothing yet.
    pub message: String,
}

/// A Job of a finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnJob {
    /// Name of the Job, by which it is deleted.
    pub name: String,
    /// UID of the Job. A Job with the same name and another UID is not deleted.
    pub uid: Option<String>,
    /// Whether the Job is being deleted and still has a pod.
    pub deleting: bool,
}
