//! The progress of the current attempt, and the reason why it waits.

use std::time::Duration;

use crds::{
    Reason,
    status::{Attempt, Phase},
};
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::{
    Plan, Presence, What,
    decision::Decision,
    job,
    status::NextStatus,
    times::{LEEWAY_SECONDS, OFTEN, SOON, seconds_since},
};

/// Time after which the status reports why a new pod waits, in seconds. Most waits for a claim, a node or the target are shorter, and not worth a
/// status write.
const SETTLE_SECONDS: u32 = 5;
/// Maximum time for the Job controller to create the pod, in seconds. It usually takes less than one.
const REFUSED_SECONDS: u32 = 30;
/// Time after which the status reports that a node has not mounted the volumes, in seconds.
const MOUNT_SECONDS: u32 = 60;
/// Time after which the status reports that a volume has not been provisioned, in seconds.
const VOLUME_SECONDS: u32 = 60;
/// Maximum time for which image pulls on a node can fail, in seconds. It covers a busy registry. A wrong image name never succeeds.
const PULL_SECONDS: u32 = 300;

impl Decision<'_> {
    /// Continues the current attempt, which the status lists.
    pub(super) fn follow(&self, attempt: &Attempt) -> Plan {
        let job = &self.observed.job;
        if let Some(reason) = attempt.reason.known() {
            return self.end_given_up(attempt, reason);
        }
        match job.presence {
            Presence::Foreign => self.conflict(&attempt.job_name),
            Presence::Ours if job.deleting && self.observed.ended.is_none() => self.job_lost(attempt, None),
            Presence::Ours => self.watch(attempt),
            Presence::Absent | Presence::Unknown if self.before.phase == Some(Phase::Preparing) => self.create(attempt),
            Presence::Unknown => self.watch(attempt),
            Presence::Absent if self.observed.ended.is_some() => self.read_result(),
            Presence::Absent => self.job_lost(attempt, None),
        }
    }

    /// Continues an attempt whose Job exists.
    fn watch(&self, attempt: &Attempt) -> Plan {
        let (observed, now) = (self.observed, self.turn.now);
        if observed.ambiguous {
            let message = format!(
                "two pods of Job {} were created in the same second, and only one of them can be the launcher's; find out who else creates pods in this namespace: {}",
                attempt.job_name,
                observed.other_pods.join(", ")
            );
            return self.give_up(Reason::AmbiguousPod, &message);
        }
        // This must be checked before the end of the launcher: a launcher that ended because its Job was suspended was not disrupted.
        if observed.job.suspended && observed.job.failed.is_none() && self.whole_result().is_none() {
            return self.watch_suspended(attempt);
        }
        if let Some(plan) = self.server_died(attempt) {
            return plan;
        }
        if observed.ended.is_some() {
            return self.await_cause(attempt).unwrap_or_else(|| self.read_result());
        }
        if let Some(unread) = self.unread(&[What::Job, What::Pods]) {
            return self.watch_unread(attempt, unread);
        }
        if observed.job.failed.is_some() || observed.job.complete {
            return self.await_result(attempt);
        }
        let limit = self.effective.execution.deadlines.collect_seconds;
        if let Some(since) = observed.pod.deleting.filter(|it| seconds_since(*it, now) > limit) {
            let message = format!(
                "the grace period of the deleted pod ended at {since}, and {limit} seconds later (execution.deadlines.collectSeconds) it still exists; check whether its node is lost"
            );
            return self.give_up(Reason::Disrupted, &message);
        }
        match attempt.running_time {
            Some(running) => self.watch_measuring(attempt, running),
            None if observed.pod.ready => self.running(attempt),
            None => self.watch_starting(attempt),
        }
    }

    fn watch_measuring(&self, attempt: &Attempt, running: Timestamp) -> Plan {
        let limit = self.effective.launcher_seconds().saturating_add(LEEWAY_SECONDS);
        if seconds_since(running, self.turn.now) > limit {
            let message =
                format!("the launcher did not end within {limit} seconds; raise execution.deadlines.runSeconds");
            return self.give_up(Reason::DeadlineExceeded, &message);
        }
        self.running(attempt)
    }

    fn watch_starting(&self, attempt: &Attempt) -> Plan {
        let (now, limit) = (self.turn.now, self.effective.execution.deadlines.start_seconds);
        let (reason, message) = self.why_not_running(attempt);
        if let Some(message) = self.hopeless_image(attempt, reason, &message) {
            return self.give_up(reason, &message);
        }
        let passing = [Reason::Unschedulable, Reason::VolumePending, Reason::TargetNotReady].contains(&reason);
        if passing && seconds_since(attempt.start_time, now) < SETTLE_SECONDS {
            let mut plan = self.status_plan(NextStatus::new(Phase::Starting, Reason::PodStarting, self.starting()));
            plan.next_look = Some(SOON);
            return plan;
        }
        let since = self.job_created(attempt);
        if seconds_since(since, now) > limit {
            let message = format!(
                "the launcher did not start to measure within {limit} seconds (execution.deadlines.startSeconds): {message}"
            );
            let reason = match reason {
                Reason::PodStarting | Reason::TargetNotReady => Reason::StartTimeout,
                other => other,
            };
            return self.give_up(reason, &message);
        }
        let mut plan = self.status_plan(NextStatus::new(Phase::Starting, reason, message));
        plan.next_look = Some(until(since, limit, now));
        plan
    }

    pub(super) fn running(&self, attempt: &Attempt) -> Plan {
        let next = match self.run.spec.launcher.debug {
            false => NextStatus::new(Phase::Running, Reason::Measuring, "the launcher measures"),
            true => NextStatus::new(Phase::Running, Reason::Debugging, self.by_hand(attempt)),
        };
        let mut plan = self.status_plan(next);
        if attempt.running_time.is_none()
            && let Some(last) = plan.status.attempts.last_mut()
        {
            last.running_time = Some(self.turn.now);
        }
        plan.next_look = Some(OFTEN);
        plan
    }

    /// What a user can do with a launcher that waits in debug mode.
    fn by_hand(&self, attempt: &Attempt) -> String {
        let namespace = self.run.namespace().unwrap_or_default();
        let pod = match &self.observed.pod.name {
            Some(pod) => pod.clone(),
            None => format!("job/{}", attempt.job_name),
        };
        format!(
            "the launcher has prepared everything and sends no load, as spec.launcher.debug says; start the load yourself: kubectl exec -it -n {namespace} \
             {pod} -c {} -- /benchwright run --now; the run ends when you cancel it, or {} seconds after its start (execution.deadlines.runSeconds)",
            job::CONTAINER,
            self.effective.execution.deadlines.run_seconds
        )
    }

    fn why_not_running(&self, attempt: &Attempt) -> (Reason, String) {
        let pod = &self.observed.pod;
        // If the pod never existed, its creation was refused. If an existing pod disappears, the Job fails for another reason.
        let never_seen = pod.name.is_none() && attempt.pod_uid.is_none();
        if never_seen && seconds_since(self.job_created(attempt), self.turn.now) > REFUSED_SECONDS {
            return self.why_no_pod(attempt);
        }
        match (&pod.unschedulable, &pod.waiting) {
            (Some(why), _) => self.why_unscheduled(why),
            (None, Some((reason, why))) if is_image_problem(reason) => {
                let image = &self.effective.launcher.image;
                let message = format!(
                    "image {image:?} cannot be pulled: {reason}: {why}; check that it exists and that the namespace may pull it"
                );
                (Reason::ImagePull, message)
            }
            (None, Some((reason, why))) if reason.starts_with("CreateContainer") => {
                let message = format!(
                    "the node cannot create the container: {reason}: {why}; check the objects and keys that the run names"
                );
                (Reason::ContainerRefused, message)
            }
            (None, Some((reason, why))) if reason != "ContainerCreating" && reason != "PodInitializing" => {
                (Reason::PodStarting, format!("the container waits: {reason}: {why}"))
            }
            _ if pod.running => {
                let limit = self.effective.target.readiness.timeout_seconds;
                let message = format!(
                    "the launcher waits for the target to be ready, up to {limit} seconds (target.readiness.timeoutSeconds); the launcher's log says what the target answers"
                );
                (Reason::TargetNotReady, message)
            }
            _ if self.waits_for_mounts() => self.why_not_mounted(),
            _ if self.waits_for_volume(attempt) => self.why_no_volume("nothing has provisioned one for 60 seconds"),
            _ => (Reason::PodStarting, self.starting()),
        }
    }

    /// The time at which the Job was first allowed to create its pod. Time in a queue is excluded.
    pub(super) fn job_created(&self, attempt: &Attempt) -> Timestamp {
        let job = &self.observed.job;
        let queued = self.run.spec.queue_name.as_ref().map(|_| self.turn.now);
        job.started.or(queued).or(job.created).map_or(attempt.start_time, |it| it.max(attempt.start_time))
    }

    /// The reason why the Job has created no pod. The exact cause is only in the Job's events, which the operator has no right to read.
    fn why_no_pod(&self, attempt: &Attempt) -> (Reason, String) {
        let message = format!(
            "Job {0} has created no pod for {REFUSED_SECONDS} seconds: a quota, Pod Security, a webhook or a missing service account may refuse it; its events say which: kubectl describe job {0}",
            attempt.job_name
        );
        (Reason::PodRefused, message)
    }

    /// Whether the pod was assigned to its node more than [`MOUNT_SECONDS`] ago, but its volumes are not mounted yet.
    fn waits_for_mounts(&self) -> bool {
        let pod = &self.observed.pod;
        let since = pod.accepted.filter(|_| pod.without_sandbox);
        since.is_some_and(|it| seconds_since(it, self.turn.now) > MOUNT_SECONDS)
    }

    /// Whether the claim of the results has been unbound for a minute while the scheduler waits for it. The scheduler itself reports nothing for ten
    /// minutes.
    fn waits_for_volume(&self, attempt: &Attempt) -> bool {
        let (pod, claim) = (&self.observed.pod, &self.observed.claim);
        let is_unbound = self.effective.storage.pvc.is_some() && claim.exists && !claim.bound;
        let is_without_node = pod.name.is_some() && pod.node.is_empty() && pod.accepted.is_none();
        is_unbound && is_without_node && seconds_since(self.job_created(attempt), self.turn.now) > VOLUME_SECONDS
    }

    fn why_not_mounted(&self) -> (Reason, String) {
        let message = format!(
            "the node has not mounted the pod's volumes, or not set up its network, for {MOUNT_SECONDS} seconds{}; the pod's events say more: kubectl describe pod {}",
            self.mounts(),
            self.observed.pod.name.as_deref().unwrap_or_default()
        );
        (Reason::MountPending, message)
    }

    /// Returns the message if waiting longer for the image is useless. `None` otherwise.
    fn hopeless_image(&self, attempt: &Attempt, reason: Reason, message: &str) -> Option<String> {
        if reason != Reason::ImagePull {
            return None;
        }
        let waiting = self.observed.pod.waiting.as_ref().map_or("", |(reason, _)| reason);
        if ["InvalidImageName", "ErrImageNeverPull"].contains(&waiting) {
            return Some(message.to_owned());
        }
        let since = self.observed.pod.accepted.unwrap_or_else(|| self.job_created(attempt));
        (seconds_since(since, self.turn.now) > PULL_SECONDS)
            .then(|| format!("{message}; the node has tried for {PULL_SECONDS} seconds"))
    }

    fn why_unscheduled(&self, why: &str) -> (Reason, String) {
        // An unbound claim alone is no problem, because most claims are only bound when the first pod that mounts them is scheduled.
        let pending =
            self.effective.storage.pvc.as_ref().filter(|_| !self.observed.claim.bound && is_about_volumes(why));
        if pending.is_none() {
            return (Reason::Unschedulable, format!("no node takes the pod: {why}"));
        }
        self.why_no_volume(why)
    }

    fn why_no_volume(&self, why: &str) -> (Reason, String) {
        let claim = self.effective.storage.pvc.as_ref().map_or("", |it| it.claim_name.as_str());
        let class = match self.observed.claim.class.as_str() {
            "" => "the default StorageClass".to_owned(),
            class => format!("StorageClass {class:?}"),
        };
        let message = format!(
            "claim {claim:?} has no volume ({class}): {why}; check that the class exists and can provision one; the claim's events say more: kubectl describe pvc {claim}"
        );
        (Reason::VolumePending, message)
    }

    /// One message for all steps before the container runs, so that not every step causes a status write.
    pub(super) fn starting(&self) -> String {
        let mounts = self.mounts();
        format!(
            "the pod is being created or starts on its node{mounts}; if this takes long, see its events and the events of the Job"
        )
    }

    /// Names the objects that the pod mounts, for the message. If one of them is missing, only the pod's events report it.
    fn mounts(&self) -> String {
        let target = &self.run.spec.target;
        let secret = target.auth.as_ref().map(|it| format!("Secret {:?}", it.secret_key_ref.name));
        let authorities = target.tls.as_ref().and_then(|it| match (&it.ca.config_map_ref, &it.ca.secret_key_ref) {
            (Some(key), _) => Some(format!("ConfigMap {:?}", key.name)),
            (None, key) => key.as_ref().map(|key| format!("Secret {:?}", key.name)),
        });
        let results = self.effective.storage.pvc.as_ref().map(|it| format!("claim {:?}", it.claim_name));
        let credentials = self.run.spec.storage.s3.as_ref().map(|it| format!("Secret {:?}", it.secret_ref.name));
        let files = self.run.spec.profile.files.iter().filter_map(|it| match (&it.config_map_ref, &it.claim) {
            (Some(key), _) => Some(format!("ConfigMap {:?}", key.name)),
            (None, claim) => claim.as_ref().map(|it| format!("claim {:?}", it.claim_name)),
        });
        let all: Vec<_> = [secret, authorities, results, credentials].into_iter().flatten().chain(files).collect();
        if all.is_empty() {
            return String::new();
        }
        format!(
            "; it mounts {}: check that they exist, have the keys, and are not in use on another node",
            all.join(", ")
        )
    }
}

/// Whether a message of the scheduler is about the claim, its class or its volume.
fn is_about_volumes(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["volume", "storageclass"].iter().any(|it| message.contains(it))
}

fn is_image_problem(reason: &str) -> bool {
    reason.starts_with("ErrImage") || reason.starts_with("ImagePull") || reason == "InvalidImageName"
}

/// Time until `seconds` after `then`, but at least [`SOON`] and at most [`OFTEN`].
fn until(then: Timestamp, seconds: u32, now: Timestamp) -> Duration {
    let left = u64::from(seconds.saturating_sub(seconds_since(then, now))) + 1;
    Duration::from_secs(left).clamp(SOON, OFTEN)
}
