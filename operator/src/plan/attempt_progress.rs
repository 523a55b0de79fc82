//! How far an attempt is whose intent is in the status, and what it waits for.

use std::time::Duration;

use crds::{
    Reason,
    resolve::claim,
    status::{Attempt, Phase},
};
use jiff::Timestamp;

use super::{
    Plan, Presence,
    decision::{Decision, LEEWAY_SECONDS, OFTEN, SOON, seconds_since},
    job,
    status::NextStatus,
};

/// What a young pod waits for passes by itself, as a rule: a claim that its first pod binds, a target that is asked for the
/// first time. To tell each would be a write for nothing.
const SETTLE_SECONDS: u32 = 5;

impl Decision<'_> {
    /// Goes on with an attempt whose intent is in the status.
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

    /// Looks how far an attempt is whose Job exists.
    fn watch(&self, attempt: &Attempt) -> Plan {
        let (observed, deadlines) = (self.observed, &self.run.spec.execution.deadlines);
        if observed.ambiguous {
            let message = format!(
                "two pods of Job {} were created in the same second, and the figures of only one may count; see who else creates pods in this namespace: {}",
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
        let now = self.turn.now;
        if let Some(since) = observed.pod.deleting.filter(|it| seconds_since(*it, now) > deadlines.collect_seconds) {
            let limit = deadlines.collect_seconds;
            let message = format!(
                "the pod should be gone since {since}, and is not {limit} seconds later (execution.deadlines.collectSeconds); see whether its node is lost"
            );
            return self.end_attempt(Reason::Disrupted, &message, None);
        }
        if let Some(running) = attempt.running_time {
            let limit = deadlines.run_seconds + self.run.spec.execution.grace_period_seconds + LEEWAY_SECONDS;
            if seconds_since(running, now) > limit {
                let message =
                    format!("the launcher did not end within {limit} seconds; raise execution.deadlines.runSeconds");
                return self.give_up(Reason::DeadlineExceeded, &message);
            }
            return self.running(attempt);
        }
        if observed.pod.ready {
            return self.running(attempt);
        }
        let (reason, message) = self.why_not_running();
        let passing = [Reason::Unschedulable, Reason::VolumePending, Reason::TargetNotReady].contains(&reason);
        if passing && seconds_since(attempt.start_time, now) < SETTLE_SECONDS {
            let mut plan = self.status_plan(NextStatus::new(Phase::Starting, Reason::PodStarting, self.starting()));
            plan.next_look = Some(SOON);
            return plan;
        }
        let since = observed.job.created.map_or(attempt.start_time, |it| it.max(attempt.start_time));
        if seconds_since(since, now) > deadlines.start_seconds {
            let limit = deadlines.start_seconds;
            let message = format!(
                "the launcher did not measure within {limit} seconds (execution.deadlines.startSeconds): {message}"
            );
            let reason = if reason == Reason::PodStarting || reason == Reason::TargetNotReady {
                Reason::StartTimeout
            } else {
                reason
            };
            return self.give_up(reason, &message);
        }
        let mut plan = self.status_plan(NextStatus::new(Phase::Starting, reason, message));
        plan.next_look = Some(until(since, deadlines.start_seconds, now));
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
        // Most claims wait for the first pod that mounts them, and so are not bound while there is no room for it.
        let about_volumes = pod.unschedulable.as_deref().is_some_and(is_about_volumes);
        let pending = claim(&self.run.spec).filter(|_| !self.observed.claim.bound && about_volumes);
        match (&pod.unschedulable, &pod.waiting, pending) {
            (Some(why), _, Some(pvc)) => {
                let class = &self.observed.claim.class;
                let class = if class.is_empty() {
                    "the default StorageClass".into()
                } else {
                    format!("StorageClass {class:?}")
                };
                let name = pvc.claim_name;
                let message = format!(
                    "claim {name:?} has no volume ({class}): {why}; see that the class exists and can provision"
                );
                (Reason::VolumePending, message)
            }
            (Some(why), ..) => (Reason::Unschedulable, format!("no node takes the pod: {why}")),
            (None, Some((reason, why)), _) if is_image_problem(reason) => {
                let image = job::image(self.run, self.turn.settings);
                (
                    Reason::ImagePull,
                    format!("image {image:?} cannot be had: {reason}: {why}; see that it exists and may be pulled"),
                )
            }
            (None, Some((reason, why)), _) if reason != "ContainerCreating" && reason != "PodInitializing" => {
                (Reason::PodStarting, format!("the container waits: {reason}: {why}"))
            }
            _ if pod.running => {
                let limit = self.run.spec.target.readiness.timeout_seconds;
                let message = format!(
                    "the launcher waits for the target to be ready, up to {limit} seconds (target.readiness.timeoutSeconds); its log tells what it meets"
                );
                (Reason::TargetNotReady, message)
            }
            _ => (Reason::PodStarting, self.starting()),
        }
    }

    /// One sentence for all that comes before the container runs: each step told by itself would be a write of its own.
    pub(super) fn starting(&self) -> String {
        let mounts = self.mounts();
        format!(
            "the pod is being made, or starts on its node{mounts}; if this lasts, its events and the events of the Job tell why"
        )
    }

    /// What the pod cannot start without, and whose absence only its own events tell.
    fn mounts(&self) -> String {
        let target = &self.run.spec.target;
        let secret = target.auth.as_ref().map(|it| format!("Secret {:?}", it.secret_key_ref.name));
        let authorities = target.tls.as_ref().map(|it| format!("ConfigMap {:?}", it.ca_config_map_ref.name));
        let results = claim(&self.run.spec).map(|it| format!("claim {:?}", it.claim_name));
        let files = self.run.spec.profile.files.iter().filter_map(|it| match (&it.config_map_ref, &it.claim) {
            (Some(key), _) => Some(format!("ConfigMap {:?}", key.name)),
            (None, claim) => claim.as_ref().map(|it| format!("claim {:?}", it.claim_name)),
        });
        let all: Vec<_> = [secret, authorities, results].into_iter().flatten().chain(files).collect();
        if all.is_empty() {
            return String::new();
        }
        format!("; it mounts {}: see that they exist, have the keys, and are free", all.join(", "))
    }
}

/// Whether the scheduler's words are about the claim, its class or its volume.
fn is_about_volumes(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["volume", "storageclass"].iter().any(|it| message.contains(it))
}

fn is_image_problem(reason: &str) -> bool {
    reason.starts_with("ErrImage") || reason.starts_with("ImagePull") || reason == "InvalidImageName"
}

/// Until a deadline has passed, at least [`SOON`] and at most [`OFTEN`].
fn until(then: Timestamp, seconds: u32, now: Timestamp) -> Duration {
    let left = u64::from(seconds.saturating_sub(seconds_since(then, now))) + 1;
    Duration::from_secs(left).clamp(SOON, OFTEN)
}
