//! All inputs of a decision, except the run itself.

use jiff::Timestamp;

use super::{
    exclusive::Wait,
    launcher_input::{InputError, LauncherInput},
    network_policy::{Governed, Reach},
    pod_state::{Ended, PodState},
    presence::Presence,
    server::{OtherUse, ServerState},
};

/// Set while an attempt waits in a queue and other runs need the target or slot that it occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// When the other runs began to wait.
    pub since: Timestamp,
    /// Maximum time in seconds for which the administrators let the attempt wait in the queue in this case.
    pub limit: u32,
}

/// All inputs of a decision, except the run itself.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The launcher's input. `None` in phases that do not need it.
    pub input: Option<Result<LauncherInput, InputError>>,
    /// Whether the ConfigMap of the current attempt exists.
    pub config_map: Presence,
    /// UID of the ConfigMap, if it belongs to the run.
    pub config_map_uid: Option<String>,
    /// The claim of the results.
    pub claim: ClaimState,
    /// The server of the run. Only read if the status names a server.
    pub server: ServerState,
    /// How other runs use the shared server of a finished run. Only read if the server is due for removal.
    pub other_use: OtherUse,
    /// Whether the ConfigMap with the values for llm-d's charts exists. Only read if the charts start the server and the run is not measuring yet.
    pub chart_values: Presence,
    /// The error if this reconciliation could not write that ConfigMap.
    pub values_refused: Option<String>,
    /// The addresses that the attempt's pod must reach. Only read if the attempt is about to be created.
    pub reach: Reach,
    /// The Job of the current attempt.
    pub job: JobState,
    /// What Kueue reports about the attempt's Job. Only read while the Job waits in a queue.
    pub queue: Option<QueueState>,
    /// The pod of the attempt's Job.
    pub pod: PodState,
    /// Names of other pods of the Job that have not ended. The Job controls them, or its deletion left them behind.
    pub other_pods: Vec<String>,
    /// Whether two pods could be the launcher's pod. `pod` then describes neither of them.
    pub ambiguous: bool,
    /// How the launcher's container ended, if that is known. The pod can be gone by now.
    pub ended: Option<Ended>,
    /// The run's position in line, from 1, if it waits because its namespace has the maximum number of attempts.
    pub namespace_line: Option<usize>,
    /// The name of a child object that this reconciliation could not create, because an object of another owner has the name.
    pub conflict: Option<String>,
    /// The reason why the run must wait for its target. `None` if it can begin.
    pub wait: Option<Wait>,
    /// When the run last had to wait for its target. At this time the time limit for the run's other objects, such as its ConfigMap, starts again.
    pub last_in_line: Option<Timestamp>,
    /// Which traffic is restricted by other NetworkPolicies of the namespace.
    pub governed: Governed,
    /// Set if the run's attempt waits in its queue while another run waits for its target or for its slot in the namespace.
    pub wanted: Option<Wanted>,
    /// The refusal, if the API server refused to create a child in this reconciliation.
    pub refused: Option<Refused>,
    /// All Jobs of a finished run whose Jobs are due for deletion. `None` if they are not due, or could not be read.
    pub own_jobs: Option<Vec<OwnJob>>,
    /// Objects that could not be read. Fields about these objects do not show whether they exist.
    pub unread: Vec<Unread>,
}

impl Observed {
    /// Whether a Job or a pod of the last attempt still exists.
    pub fn is_attempt_left(&self) -> bool {
        self.job.presence == Presence::Ours || self.pod.name.is_some() || self.ambiguous
    }
}

/// An object that the operator could not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The kind of object.
    pub what: What,
    /// The failed request and the remedy: verb, resource, name and response.
    pub message: String,
    /// Whether the cause may disappear without an intervention, as when the API server is busy. A missing right is not such a cause.
    pub passing: bool,
}

/// The kinds of objects that a decision needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The Job of the attempt.
    Job,
    /// The pods of the attempt.
    Pods,
    /// The claim of the results.
    Claim,
    /// ConfigMaps and other objects from which the launcher's input is built.
    Input,
    /// The queue of the run, and the Workload that Kueue created for its Job.
    Queue,
    /// The server of the run, its Services and its pods.
    Server,
}

/// The refusal of the API server to create a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The message, with the name of the child and the API server's own message.
    pub message: String,
    /// Whether a retry would be refused as well, because the object itself is invalid.
    pub for_good: bool,
}

/// The claim of the results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimState {
    /// Whether the claim exists.
    pub exists: bool,
    /// Whether a volume is bound to it.
    pub bound: bool,
    /// The StorageClass of the claim; empty if the claim names none.
    pub class: String,
    /// Whether the claim exists, but may not be used for results: see [`super::pvc::is_for_results`].
    pub of_others: bool,
}

/// The Job of the current attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobState {
    /// Whether the Job exists, and whether it belongs to the run.
    pub presence: Presence,
    /// UID of the Job, if it belongs to the run.
    pub uid: Option<String>,
    /// Reason of the Job's condition Failed, if that condition is true.
    pub failed: Option<String>,
    /// Whether the Job's condition Complete is true.
    pub complete: bool,
    /// Whether the Job is being deleted.
    pub deleting: bool,
    /// Whether the Job is suspended. A suspended Job creates no pod, and deletes its existing pod.
    pub suspended: bool,
    /// When the Job was created.
    pub created: Option<Timestamp>,
    /// When the Job was last started or resumed. `None` until the Job controller has recorded that.
    pub started: Option<Timestamp>,
    /// When the Job completed or failed.
    pub ended_at: Option<Timestamp>,
}

/// What Kueue reports about a waiting Job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Whether the LocalQueue exists. It never exists in a cluster without Kueue.
    pub exists: bool,
    /// Kueue's reason why the Job is not admitted. Empty if Kueue has not reported one.
    pub message: String,
}

/// A Job of a finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnJob {
    /// Name of the Job. The deletion uses it.
    pub name: String,
    /// UID of the Job. It prevents the deletion of another Job with the same name.
    pub uid: Option<String>,
    /// Whether the Job is being deleted and still has a pod.
    pub deleting: bool,
}
