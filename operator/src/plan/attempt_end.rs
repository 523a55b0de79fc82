//! How an attempt and a run end: because of the launcher's report, a deadline, or an event of the Job or pod.

use crds::{
    BenchmarkRunStatus, Envelope, LauncherReason, Outcome, Reason,
    benchmark_run::{Enforcement, RetryCause},
    envelope::Core,
    objective::Met,
    status::{Attempt, MAX_ATTEMPTS, Phase},
};
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::{
    Plan, Presence, Stop,
    decision::Decision,
    status::{self, NextStatus},
    termination_message,
    times::{SOON, seconds_since},
};

impl Decision<'_> {
    /// Ends an attempt that failed without a result. This first reconciliation only writes the reason into the status, and the next reconciliation
    /// deletes the Job. If the reason were not written first, an operator that restarts after the deletion would assume that somebody else had
    /// deleted the Job.
    pub(super) fn give_up(&self, reason: Reason, message: &str) -> Plan {
        let phase = self.before.phase.unwrap_or(Phase::Starting);
        let mut plan = self.status_plan(NextStatus::new(phase, reason, message));
        if let Some(last) = plan.status.attempts.last_mut() {
            last.reason = reason.into();
        }
        // The next reconciliation follows immediately. It ends the attempt and publishes the event.
        plan.event = None;
        plan.again = true;
        plan
    }

    /// Ends an attempt whose reason [`Self::give_up`] has written. If the launcher has ended in the meantime, its result is used.
    pub(super) fn end_given_up(&self, attempt: &Attempt, reason: Reason) -> Plan {
        // If two pods could be the launcher's pod, the result of neither is used, even after one of them is gone. If the server died, ServerDied is a
        // more useful reason than the result of a launcher without valid figures.
        let counts = |it: &Envelope| reason != Reason::ServerDied || it.core.outcome.has_valid_figures();
        if let Some(envelope) = self.whole_result().filter(|it| reason != Reason::AmbiguousPod && counts(it)) {
            return self.end_with(&envelope);
        }
        if reason == Reason::Suspended {
            return self.end_suspended(attempt);
        }
        let mut plan = self.end_attempt(reason, self.last_message(), None);
        plan.stop = match self.observed.job.presence {
            Presence::Ours => Some(self.stop_now(attempt)),
            Presence::Unknown => self.stop_unseen(attempt),
            Presence::Absent | Presence::Foreign => self.stop_orphan(),
        };
        plan
    }

    /// The launcher's envelope (its termination message), if the launcher measured until its regular end.
    pub(super) fn whole_result(&self) -> Option<Envelope> {
        let (attempt, ended) = (self.attempt()?, self.observed.ended.as_ref()?);
        let envelope = termination_message::read(self.run, attempt.number, ended).ok()?;
        let outcome = envelope.core.outcome;
        (outcome.has_valid_figures() || outcome == Outcome::Invalid).then_some(envelope)
    }

    pub(super) fn stop_now(&self, attempt: &Attempt) -> Stop {
        Stop::PodAndJobNow { pod: self.observed.pod.name.clone(), job: attempt.job_name.clone() }
    }

    /// Handles a Job that somebody else has deleted. If the deletion left its pod behind, the pod is stopped.
    pub(super) fn job_lost(&self, attempt: &Attempt, envelope: Option<&Envelope>) -> Plan {
        let message = format!("{} was deleted while it ran", attempt.job_name);
        let mut plan = self.end_attempt(Reason::JobLost, &message, envelope);
        plan.stop = self.stop_orphan();
        plan
    }

    /// Stops a pod that no longer has a Job. A deletion of the Job with `--cascade=orphan` leaves such a pod.
    pub(super) fn stop_orphan(&self) -> Option<Stop> {
        let (job, pod) = (&self.observed.job, &self.observed.pod);
        let without_job = job.presence != Presence::Ours || job.deleting;
        let orphan = without_job && pod.deleting.is_none() && self.observed.ended.is_none();
        pod.name.clone().filter(|_| orphan).map(Stop::Pod)
    }

    /// Stops everything that still runs for a run that finishes in this reconciliation, because a finished run gets no further reconciliation that
    /// could do this.
    fn stop_remaining(&self) -> Option<Stop> {
        let (job, pod) = (&self.observed.job, &self.observed.pod);
        let last = self.before.attempts.last().filter(|_| self.observed.ended.is_none())?;
        if job.presence == Presence::Unknown {
            return self.stop_unseen(last);
        }
        let ours = job.presence == Presence::Ours && !job.deleting;
        let open = !job.complete && job.failed.is_none();
        match &pod.name {
            Some(_) if ours => Some(self.stop_now(last)),
            None if ours && open => Some(Stop::Job(last.job_name.clone())),
            _ => self.stop_orphan(),
        }
    }

    /// Waits until the pod has ended after the end of its Job, at most for `collectSeconds`.
    pub(super) fn await_result(&self, attempt: &Attempt) -> Plan {
        let failed = self.observed.job.failed.as_deref();
        if self.observed.pod.name.is_none() {
            return match failed {
                Some("DeadlineExceeded") => self.end_attempt(
                    Reason::DeadlineExceeded,
                    "the Job exceeded its deadline; raise execution.deadlines.startSeconds or runSeconds",
                    None,
                ),
                // The reason ResultLost is reserved for a completed Job, because it allows the next attempt to report this attempt's results folder.
                None if self.observed.job.complete => {
                    let message = "the Job completed, and its pod was gone before its result could be read";
                    self.end_attempt(Reason::ResultLost, message, None)
                }
                _ => self.end_attempt(Reason::Disrupted, "the pod was gone before its result could be read", None),
            };
        }
        let since = self.observed.job.ended_at.unwrap_or_else(|| attempt.running_time.unwrap_or(attempt.start_time));
        let limit = self.effective.execution.deadlines.collect_seconds;
        if seconds_since(since, self.turn.now) > limit {
            let message = format!(
                "the pod did not end within {limit} seconds after its Job (execution.deadlines.collectSeconds); check whether its node is lost"
            );
            return match failed {
                Some("DeadlineExceeded") => self.give_up(Reason::DeadlineExceeded, &message),
                _ => self.give_up(Reason::Disrupted, &message),
            };
        }
        let message = "the Job has ended; the operator waits for its pod to end, to read the result";
        let mut plan = self.status_plan(NextStatus::new(Phase::Collecting, Reason::ReadingResult, message));
        plan.next_look = Some(SOON);
        plan
    }

    /// Decides from the termination message, after the launcher has ended.
    pub(super) fn read_result(&self) -> Plan {
        let Some(ended) = &self.observed.ended else {
            return Plan { again: true, status: self.before.clone(), ..Plan::default() };
        };
        match termination_message::read(self.run, self.attempt().map_or(0, |it| it.number), ended) {
            Ok(envelope) => self.end_with(&envelope),
            Err(failure) => self.end_attempt(failure.reason, &failure.message, None),
        }
    }

    pub(super) fn end_with(&self, envelope: &Envelope) -> Plan {
        let core = &envelope.core;
        match core.outcome {
            Outcome::Passed => {
                if let Some(message) = self.unjudged(core) {
                    return self.end_attempt(Reason::LauncherFailed, &message, Some(envelope));
                }
                let (reason, message) = match self.origin(core) {
                    (Reason::OwnLauncher, _) => (Reason::RunSucceeded, "the figures are valid".to_owned()),
                    (Reason::Collected, told) => (Reason::Collected, told),
                    (_, told) => (Reason::RunSucceeded, format!("the figures are valid; {told}")),
                };
                let mut plan = self.finish(Phase::Succeeded, Outcome::Passed, reason, &message);
                self.report(&mut plan, envelope);
                plan
            }
            Outcome::SLOViolated => self.end_without_objectives(Outcome::SLOViolated, Reason::SLOViolated, envelope),
            Outcome::Inconclusive => {
                self.end_without_objectives(Outcome::Inconclusive, Reason::SLOInconclusive, envelope)
            }
            Outcome::Invalid => {
                let message = format!("{}: {}", core.reason, core.message);
                let mut plan = self.finish(Phase::Failed, Outcome::Invalid, Reason::MeasurementInvalid, &message);
                self.report(&mut plan, envelope);
                plan
            }
            Outcome::Cancelled if self.observed.job.deleting || self.observed.job.presence == Presence::Absent => {
                match self.attempt() {
                    Some(attempt) => self.job_lost(attempt, Some(envelope)),
                    None => self.cancelled(Some(envelope)),
                }
            }
            Outcome::Cancelled if self.observed.job.failed.as_deref() == Some("DeadlineExceeded") => self.end_attempt(
                Reason::DeadlineExceeded,
                "the Job exceeded its deadline; raise execution.deadlines.startSeconds or runSeconds",
                Some(envelope),
            ),
            Outcome::Cancelled => {
                let message = format!("the run was interrupted: {}", self.cause());
                self.end_attempt(Reason::Disrupted, &message, Some(envelope))
            }
            Outcome::Error => {
                let reason = core.reason.known().map_or(Reason::LauncherFailed, LauncherReason::attempt_reason);
                self.end_attempt(reason, &core.message, Some(envelope))
            }
        }
    }

    /// Copies the launcher's figures into the status of the plan.
    pub(super) fn report(&self, plan: &mut Plan, envelope: &Envelope) {
        let namespace = self.run.namespace().unwrap_or_default();
        status::apply_envelope(&mut plan.status, &self.effective.storage, &namespace, envelope);
        let (reason, message) = self.origin(&envelope.core);
        status::verify(&mut plan.status, reason, &message, self.turn.now);
        if let Some(resolved) = plan.status.resolved.as_mut().filter(|_| self.run.spec.execution.collect.is_some()) {
            // The figures of a run that only collects results do not come from the target in its spec.
            resolved.endpoint.clear();
        }
    }

    /// The origin of an envelope's figures: a reason and a sentence. If the figures were not measured in this run, the launcher's message contains
    /// the folder that they come from.
    fn origin(&self, core: &Core) -> (Reason, String) {
        let own = &self.turn.settings.launcher_image;
        let image = &self.effective.launcher.image;
        let image_id = [&self.observed.pod.image_id, self.attempt().map_or(image, |it| &it.image_id), image];
        let image_id = image_id.into_iter().find(|it| !it.is_empty()).unwrap_or(image);
        let is_reread = || {
            let mut lost = self.before.attempts.iter().filter(|it| it.reason == Reason::ResultLost);
            lost.any(|it| core.folder.as_ref() == Some(&it.job_name))
        };
        // The image of the attempt can differ from the current default, because an attempt keeps the image of the operator that started it.
        if self.run.spec.launcher.image.as_ref().is_some_and(|it| it != own) {
            return (Reason::CustomImage, format!("measured by the custom image {image_id}"));
        }
        if self.run.spec.execution.collect.is_some() {
            return (Reason::Collected, core.message.clone());
        }
        if is_reread() {
            return (Reason::Reread, core.message.clone());
        }
        let resumed = core.search.as_ref().map_or(0, |it| it.resumed_trials);
        if resumed > 0 {
            let message = format!(
                "{resumed} trials of the search come from the folder of an earlier attempt, which users of the claim can edit"
            );
            return (Reason::Reread, message);
        }
        (Reason::OwnLauncher, format!("measured by the operator's image {image_id}"))
    }

    /// The reason why the outcome Passed is not accepted: the spec enforces objectives, but the launcher has not reported that each of them is met.
    /// `None` if it is accepted.
    fn unjudged(&self, core: &Core) -> Option<String> {
        let asked = self.run.spec.slo.objectives.len();
        let enforced = self.effective.slo.as_ref().is_some_and(|it| it.enforcement == Enforcement::Fail);
        let counts = core.objectives.unwrap_or_default();
        let judged = counts.total() as usize == asked && counts.all() == Met::True;
        (enforced && asked > 0 && !judged).then(|| {
            format!(
                "spec.slo.objectives: has {asked}, but the launcher reports that the run passed with {counts}; give operator and launcher the same release"
            )
        })
    }

    /// Ends a run whose figures are valid but miss objectives that the spec enforces.
    fn end_without_objectives(&self, outcome: Outcome, reason: Reason, envelope: &Envelope) -> Plan {
        let mut plan = self.finish(Phase::Failed, outcome, reason, &envelope.core.message);
        self.report(&mut plan, envelope);
        plan
    }

    /// Ends the current attempt. If `spec.execution.retry` allows it, another attempt follows. Otherwise the run fails.
    pub(super) fn end_attempt(&self, reason: Reason, message: &str, envelope: Option<&Envelope>) -> Plan {
        let retry = &self.effective.execution.retry;
        let allowed = reason.retry_cause().is_some_and(|cause: RetryCause| retry.reasons.contains(&cause));
        let tried = self.before.attempts.iter().filter(|it| it.reason != Reason::Suspended).count();
        // The status keeps at most MAX_ATTEMPTS attempts, so more attempts could not be counted.
        if allowed && tried <= retry.limit as usize && tried < MAX_ATTEMPTS {
            let message = format!("the attempt ended with {reason}: {message}; another attempt follows");
            let mut plan = self.status_plan(NextStatus::new(Phase::Preparing, Reason::Retrying, message));
            end_last(&mut plan.status, reason, self.turn.now);
            plan.next_look = Some(SOON);
            return plan;
        }
        let mut plan = self.finish(Phase::Failed, Outcome::Error, reason, message);
        if let Some(envelope) = envelope {
            self.report(&mut plan, envelope);
        }
        plan
    }

    pub(super) fn finish(&self, phase: Phase, outcome: Outcome, reason: Reason, message: &str) -> Plan {
        let mut plan =
            self.status_plan(NextStatus { outcome: Some(outcome), ..NextStatus::new(phase, reason, message) });
        plan.status.completion_time = Some(self.turn.now);
        plan.stop = self.stop_remaining();
        // The other pods of the Job are stopped even if the launcher's own pod has already ended.
        plan.stop_pods.clone_from(&self.observed.other_pods);
        // The next reconciliation marks the run and schedules its deletion. This plan must request that reconciliation, because no watch would start
        // it.
        plan.again = true;
        if self.attempt().is_some() {
            end_last(&mut plan.status, reason, self.turn.now);
        }
        plan
    }
}

pub(super) fn end_last(status: &mut BenchmarkRunStatus, reason: Reason, now: Timestamp) {
    if let Some(last) = status.attempts.last_mut() {
        last.end_time = Some(now);
        last.reason = reason.into();
    }
}
