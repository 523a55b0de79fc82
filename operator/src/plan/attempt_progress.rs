//! How far the current attempt is, and what it waits for.

use std::time::Duration;

use crds::{
    Reason,
    status::{Attempt, Phase},
};
use jiff::Timestamp;

use super::{
    Plan, Presence,
    decision::{Decision, LEEWAY_SECONDS, OFTEN, SOON, seconds_since},
    status::NextStatus,
};

/// How long a new pod may wait before the status says for what: most waits for a claim, a node or the target are shorter, and
/// a status write for each would be wasted.
const SETTLE_SECONDS: u32 = 5;

impl Decision<'_> {
    /// Continues an attempt that is in the status.
    pub(super) fn follow(&self, attempt: &Attempt) -> Plan {
        let job = &self.observed.job;
        if let Some(reason) = attempt.reason.known() {
            return self.end_given_up(attempt, reason);
        }
        match job.presence {
            Presence::Foreign => self.conflict(&attempt.job_name),
            Presence::Ours if job.deleting && self.observed.ended.is_none() => self.job_lost(attempt, None),
            Presence::Ours => self.watch(attempt),
            Presence::Absent if self.before.phase == Some(Phase::Preparing) => self.create(attempt),
            Presence::Absent if self.observed.ended.is_some() => self.read_result(),
            Presence::Absent => self.job_lost(attempt, None),
        }
    }

    /// Follows an attempt whose Job exists.
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
        if observed.ended.is_some() {
            return self.read_result();
        }
        if observed.job.failed.is_some() || observed.job.complete {
            return self.await_result(attempt);
        }
        let limit = self.effective.execution.deadlines.collect_seconds;
        if let Some(since) = observed.pod.deleting.filter(|it| seconds_since(*it, now) > limit) {
            let message = format!(
                "the grace period of the deleted pod ended at {since}, and {limit} seconds later (execution.deadlines.collectSeconds) it still exists; check whether its node is lost"
            );
            return self.end_attempt(Reason::Disrupted, &message, None);
        }
        match attempt.running_time {
            Some(running) => self.watch_measuring(attempt, running),
            None if observed.pod.ready => self.running(attempt),
            None => self.watch_starting(attempt),
        }
    }

    fn watch_measuring(&self, attempt: &Attempt, running: Timestamp) -> Plan {
        let limit = self.effective.measuring_seconds().saturating_add(LEEWAY_SECONDS);
        if seconds_since(running, self.turn.now) > limit {
            let message =
                format!("the launcher did not end within {limit} seconds; raise execution.deadlines.runSeconds");
            return self.give_up(Reason::DeadlineExceeded, &message);
        }
        self.running(attempt)
    }

    fn watch_starting(&self, attempt: &Attempt) -> Plan {
        let (now, limit) = (self.turn.now, self.effective.execution.deadlines.start_seconds);
        let (reason, message) = self.why_not_running();
        let passing = [Reason::Unschedulable, Reason::VolumePending, Reason::TargetNotReady].contains(&reason);
        if passing && seconds_since(attempt.start_time, now) < SETTLE_SECONDS {
            let mut plan = self.status_plan(NextStatus::new(Phase::Starting, Reason::PodStarting, self.starting()));
            plan.next_look = Some(SOON);
            return plan;
        }
        let since = self.observed.job.created.map_or(attempt.start_time, |it| it.max(attempt.start_time));
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

    fn running(&self, attempt: &Attempt) -> Plan {
        let mut plan = self.status_plan(NextStatus::new(Phase::Running, Reason::Measuring, "the launcher measures"));
        if attempt.running_time.is_none()
            && let Some(last) = plan.status.attempts.last_mut()
        {
            last.running_time = Some(self.turn.now);
        }
        plan.next_look = Some(OFTEN);
        plan
    }

    fn why_not_running(&self) -> (Reason, String) {
        let pod = &self.observed.pod;
        match (&pod.unschedulable, &pod.waiting) {
            (Some(why), _) => self.why_unscheduled(why),
            (None, Some((reason, why))) if is_image_problem(reason) => {
                let image = &self.effective.launcher.image;
                let message = format!(
                    "image {image:?} cannot be pulled: {reason}: {why}; check that it exists and that the namespace may pull it"
                );
                (Reason::ImagePull, message)
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
            _ => (Reason::PodStarting, self.starting()),
        }
    }

    fn why_unscheduled(&self, why: &str) -> (Reason, String) {
        // Most claims are bound only when the first pod that mounts them is scheduled. An unbound claim alone is no problem.
        let pending =
            self.effective.storage.pvc.as_ref().filter(|_| !self.observed.claim.bound && is_about_volumes(why));
        let Some(pvc) = pending else { return (Reason::Unschedulable, format!("no node takes the pod: {why}")) };
        let class = match self.observed.claim.class.as_str() {
            "" => "the default StorageClass".to_owned(),
            class => format!("StorageClass {class:?}"),
        };
        let message = format!(
            "claim {:?} has no volume ({class}): {why}; check that the class exists and can provision one",
            pvc.claim_name
        );
        (Reason::VolumePending, message)
    }

    /// One message for all steps before the container runs, so that not each step needs a status write.
    pub(super) fn starting(&self) -> String {
        let mounts = self.mounts();
        format!(
            "the pod is being created or starts on its node{mounts}; if this takes long, see its events and the events of the Job"
        )
    }

    /// The objects that the pod mounts. If one is missing, only the pod's events say so.
    fn mounts(&self) -> String {
        let target = &self.run.spec.target;
        let secret = target.auth.as_ref().map(|it| format!("Secret {:?}", it.secret_key_ref.name));
        let authorities = target.tls.as_ref().and_then(|it| match (&it.ca.config_map_ref, &it.ca.secret_key_ref) {
            (Some(key), _) => Some(format!("ConfigMap {:?}", key.name)),
            (None, key) => key.as_ref().map(|key| format!("Secret {:?}", key.name)),
        });
        let results = self.effective.storage.pvc.as_ref().map(|it| format!("claim {:?}", it.claim_name));
        let files = self.run.spec.profile.files.iter().filter_map(|it| match (&it.config_map_ref, &it.claim) {
            (Some(key), _) => Some(format!("ConfigMap {:?}", key.name)),
            (None, claim) => claim.as_ref().map(|it| format!("claim {:?}", it.claim_name)),
        });
        let all: Vec<_> = [secret, authorities, results].into_iter().flatten().chain(files).collect();
        if all.is_empty() {
            return String::new();
        }
        format!(
            "; it mounts {}: check that they exist, have the keys, and are not in use on another node",
            all.join(", ")
        )
    }
}

/// Whether the scheduler's message is about the claim, its class or its volume.
fn is_about_volumes(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["volume", "storageclass"].iter().any(|it| message.contains(it))
}

fn is_image_problem(reason: &str) -> bool {
    reason.starts_with("ErrImage") || reason.starts_with("ImagePull") || reason == "InvalidImageName"
}

/// The time until a deadline has passed, at least [`SOON`] and at most [`OFTEN`].
fn until(then: Timestamp, seconds: u32, now: Timestamp) -> Duration {
    let left = u64::from(seconds.saturating_sub(seconds_since(then, now))) + 1;
    Duration::from_secs(left).clamp(SOON, OFTEN)
}
