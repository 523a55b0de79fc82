//! How an attempt and a run end: by the launcher's report, by a deadline, or by what happened to Job and pod.

use crds::{
    BenchmarkRunStatus, Envelope, LauncherReason, Outcome, Reason, Word as _,
    benchmark_run::RetryCause,
    status::{Attempt, MAX_ATTEMPTS, Phase},
};
use jiff::Timestamp;

use super::{
    Plan, Presence, Stop,
    decision::{Decision, SOON, seconds_since},
    status::{self, NextStatus},
    termination_message,
};

impl Decision<'_> {
    /// Decides that an attempt came to nothing in time. The reason is in the status before anything is deleted: who looks
    /// at what is left after a crash must not take it for somebody else's doing.
    pub(super) fn give_up(&self, reason: Reason, message: &str) -> Plan {
        let phase = self.before.phase.unwrap_or(Phase::Starting);
        let mut plan = self.status_plan(NextStatus::new(phase, reason, message));
        if let Some(last) = plan.status.attempts.last_mut() {
            last.reason = reason.into();
        }
        plan.again = true;
        plan
    }

    /// Ends an attempt that was given up.
    pub(super) fn end_given_up(&self, attempt: &Attempt, reason: Reason) -> Plan {
        let mut plan = self.end_attempt(reason, self.last_message(), None);
        plan.stop = match self.observed.job.presence {
            Presence::Ours => Some(self.stop_now(attempt)),
            Presence::Absent | Presence::Foreign => self.stop_orphan(),
        };
        plan
    }

    pub(super) fn stop_now(&self, attempt: &Attempt) -> Stop {
        Stop::PodAndJobNow { pod: self.observed.pod.name.clone(), job: attempt.job_name.clone() }
    }

    /// Somebody deleted the Job. A pod that was left to itself must not go on.
    pub(super) fn job_lost(&self, attempt: &Attempt, envelope: Option<&Envelope>) -> Plan {
        let message = format!("{} was deleted while it ran", attempt.job_name);
        let mut plan = self.end_attempt(Reason::JobLost, &message, envelope);
        plan.stop = self.stop_orphan();
        plan
    }

    /// Ends a pod that no Job looks after any more. A Job that goes may leave its pod behind (`--cascade=orphan`).
    pub(super) fn stop_orphan(&self) -> Option<Stop> {
        let (job, pod) = (&self.observed.job, &self.observed.pod);
        let alone = job.presence != Presence::Ours || job.deleting;
        let orphan = alone && pod.deleting.is_none() && self.observed.ended.is_none();
        pod.name.clone().filter(|_| orphan).map(Stop::Pod)
    }

    /// A run that has finished is looked at no more, so that whatever still works for it has to be told to end now.
    fn stop_remaining(&self) -> Option<Stop> {
        let (job, pod) = (&self.observed.job, &self.observed.pod);
        let last = self.before.attempts.last().filter(|_| self.observed.ended.is_none())?;
        let ours = job.presence == Presence::Ours && !job.deleting;
        let open = !job.complete && job.failed.is_none();
        match &pod.name {
            Some(_) if ours => Some(self.stop_now(last)),
            None if ours && open => Some(Stop::Job(last.job_name.clone())),
            _ => self.stop_orphan(),
        }
    }

    /// The Job has ended, and how its pod ended has not been seen yet.
    pub(super) fn await_result(&self, attempt: &Attempt) -> Plan {
        let failed = self.observed.job.failed.as_deref();
        if self.observed.pod.name.is_none() {
            return match failed {
                Some("DeadlineExceeded") => {
                    self.end_attempt(Reason::DeadlineExceeded, "the Job outran its deadline", None)
                }
                _ => self.end_attempt(Reason::Disrupted, "the pod went before its result could be read", None),
            };
        }
        let since = self.observed.job.ended_at.unwrap_or_else(|| attempt.running_time.unwrap_or(attempt.start_time));
        let limit = self.run.spec.execution.deadlines.collect_seconds;
        if seconds_since(since, self.turn.now) > limit {
            let message = format!(
                "the pod did not end within {limit} seconds after its Job (execution.deadlines.collectSeconds)"
            );
            return match failed {
                Some("DeadlineExceeded") => self.end_attempt(Reason::DeadlineExceeded, &message, None),
                _ => self.end_attempt(Reason::Disrupted, &message, None),
            };
        }
        let message = "the Job has ended, its result is being read";
        let mut plan = self.status_plan(NextStatus::new(Phase::Collecting, Reason::ReadingResult, message));
        plan.next_look = Some(SOON);
        plan
    }

    /// The launcher has ended: what did it say?
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
        let disrupted = self.observed.ended.as_ref().and_then(|it| it.disrupted.as_deref());
        match core.outcome {
            Outcome::Passed => {
                let message = "the figures count";
                let mut plan = self.finish(Phase::Succeeded, Outcome::Passed, Reason::RunSucceeded, message);
                status::apply_envelope(&mut plan.status, self.run, envelope);
                plan
            }
            Outcome::Invalid => {
                let message = format!("{}: {}", core.reason, core.message);
                let mut plan = self.finish(Phase::Failed, Outcome::Invalid, Reason::MeasurementInvalid, &message);
                status::apply_envelope(&mut plan.status, self.run, envelope);
                plan
            }
            Outcome::Cancelled if self.observed.job.deleting || self.observed.job.presence == Presence::Absent => {
                match self.attempt() {
                    Some(attempt) => self.job_lost(attempt, Some(envelope)),
                    None => self.cancelled(Some(envelope)),
                }
            }
            Outcome::Cancelled if self.observed.job.failed.as_deref() == Some("DeadlineExceeded") => {
                self.end_attempt(Reason::DeadlineExceeded, "the Job outran its deadline", Some(envelope))
            }
            Outcome::Cancelled => {
                let why = disrupted.unwrap_or("its pod was asked to end by somebody else");
                self.end_attempt(Reason::Disrupted, &format!("the run was interrupted: {why}"), Some(envelope))
            }
            Outcome::Error => {
                let reason =
                    LauncherReason::named(&core.reason).map_or(Reason::LauncherFailed, LauncherReason::attempt_reason);
                self.end_attempt(reason, &core.message, Some(envelope))
            }
        }
    }

    /// Ends the current attempt: another one, if spec.execution.retry allows it, else the end of the run.
    pub(super) fn end_attempt(&self, reason: Reason, message: &str, envelope: Option<&Envelope>) -> Plan {
        let retry = &self.run.spec.execution.retry;
        let allowed = reason.retry_cause().is_some_and(|cause: RetryCause| retry.reasons.contains(&cause));
        let tried = self.before.attempts.iter().filter(|it| it.reason != Reason::Suspended).count();
        // Attempts that the status has forgotten cannot be counted, so there are no more than it remembers.
        if allowed && tried <= retry.limit as usize && tried < MAX_ATTEMPTS {
            let message = format!("attempt ended with {reason}: {message}; it is tried again");
            let mut plan = self.status_plan(NextStatus::new(Phase::Preparing, Reason::Retrying, message));
            end_last(&mut plan.status, reason, self.turn.now);
            plan.next_look = Some(SOON);
            return plan;
        }
        let mut plan = self.finish(Phase::Failed, Outcome::Error, reason, message);
        if let Some(envelope) = envelope {
            status::apply_envelope(&mut plan.status, self.run, envelope);
        }
        plan
    }

    pub(super) fn finish(&self, phase: Phase, outcome: Outcome, reason: Reason, message: &str) -> Plan {
        let mut plan =
            self.status_plan(NextStatus { outcome: Some(outcome), ..NextStatus::new(phase, reason, message) });
        plan.status.completion_time = Some(self.turn.now);
        plan.stop = self.stop_remaining();
        // Whatever became of the pod whose word counts.
        plan.stop_pods.clone_from(&self.observed.other_pods);
        // Nothing else would tell when its time is over.
        plan.again = self.run.spec.cleanup.run.is_some();
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
