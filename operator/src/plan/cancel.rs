//! Decides how to handle a run that a user cancels or suspends.

use crds::{
    Envelope, Outcome, Reason,
    benchmark_run::Cancel,
    status::{Attempt, Phase},
};

use super::{
    Plan, Presence, Stop, What,
    attempt_end::end_last,
    decision::Decision,
    status::NextStatus,
    termination_message,
    times::{LEEWAY_SECONDS, SOON, seconds_since},
};

impl Decision<'_> {
    pub(super) fn cancel(&self) -> Plan {
        let Some(attempt) = self.attempt() else { return self.cancelled(None) };
        if let Some(envelope) = self.whole_result() {
            // The run ended before it could be cancelled, so its measurement is complete.
            return self.end_with(&envelope);
        }
        if let Some(ended) = &self.observed.ended {
            return match termination_message::read(self.run, attempt.number, ended) {
                Ok(envelope) => self.cancelled(Some(&envelope)),
                Err(_) => self.cancelled(None),
            };
        }
        let pod = &self.observed.pod;
        if self.unread(&[What::Job, What::Pods]).is_some() {
            return Plan { stop: self.stop_unseen(attempt), ..self.cancelled(None) };
        }
        let ours = self.observed.job.presence == Presence::Ours;
        // If the node is lost, it will never report the end of the pod, so the wait has a limit.
        let overdue = pod.deleting.is_some_and(|it| seconds_since(it, self.turn.now) > LEEWAY_SECONDS);
        let graceful = self.run.spec.cancel == Some(Cancel::Graceful) && !overdue;
        match &pod.name {
            Some(pod_name) if graceful => {
                let phase = self.before.phase.unwrap_or(Phase::Starting);
                let mut plan =
                    self.status_plan(NextStatus::new(phase, Reason::Cancelling, "the launcher drains and reports"));
                plan.stop = pod.deleting.is_none().then(|| Stop::Pod(pod_name.clone()));
                plan.next_look = Some(SOON);
                plan
            }
            Some(_) if ours => Plan { stop: Some(self.stop_now(attempt)), ..self.cancelled(None) },
            Some(_) => Plan { stop: self.stop_orphan(), ..self.cancelled(None) },
            // The pod does not exist yet, or was gone before the operator saw it. The Job is deleted so that it creates no other pod.
            None => Plan { stop: ours.then(|| Stop::Job(attempt.job_name.clone())), ..self.cancelled(None) },
        }
    }

    pub(super) fn cancelled(&self, envelope: Option<&Envelope>) -> Plan {
        let figures = envelope.is_some_and(|it| it.core.summary.is_some());
        let message = if self.run.spec.launcher.debug {
            "cancelled; the launcher sent no load, as spec.launcher.debug says"
        } else if figures {
            "cancelled; the figures cover the requests that were due until then"
        } else {
            "cancelled, and the launcher's termination message was not seen; its results folder may hold a partial report"
        };
        let mut plan = self.finish(Phase::Cancelled, Outcome::Cancelled, Reason::Cancelled, message);
        if let Some(envelope) = envelope {
            self.report(&mut plan, envelope);
        }
        plan
    }

    /// Suspends the run. An attempt in progress is lost, because a benchmark cannot be paused.
    pub(super) fn suspend(&self) -> Plan {
        if let Some(envelope) = self.whole_result() {
            // The run ended before it could be suspended, so its measurement is complete.
            return self.end_with(&envelope);
        }
        let message = "spec.suspend is true";
        let mut plan = self.status_plan(NextStatus::new(Phase::Suspended, Reason::Suspended, message));
        let Some(attempt) = self.attempt() else { return plan };
        plan.stop = self.stop_suspended(attempt);
        plan.stop_pods.clone_from(&self.observed.other_pods);
        if attempt.reason.is_empty() && (plan.stop.is_some() || !plan.stop_pods.is_empty()) {
            // The reason is in the status before anything is deleted. Otherwise, if the user resumes the run immediately, the operator would assume
            // that somebody else deleted the Job.
            return self.give_up(Reason::Suspended, message);
        }
        end_last(&mut plan.status, attempt.reason.known().unwrap_or(Reason::Suspended), self.turn.now);
        plan
    }

    /// Ends an attempt for which a suspension has begun, although the user has resumed the run since.
    pub(super) fn end_suspended(&self, attempt: &Attempt) -> Plan {
        let message = "the attempt was suspended; another one follows";
        let mut plan = self.status_plan(NextStatus::new(Phase::Preparing, Reason::Retrying, message));
        plan.stop = self.stop_suspended(attempt);
        plan.stop_pods.clone_from(&self.observed.other_pods);
        end_last(&mut plan.status, Reason::Suspended, self.turn.now);
        plan.next_look = Some(SOON);
        plan
    }

    fn stop_suspended(&self, attempt: &Attempt) -> Option<Stop> {
        match self.observed.job.presence {
            Presence::Ours => Some(Stop::Job(attempt.job_name.clone())),
            Presence::Unknown => self.stop_unseen(attempt),
            Presence::Absent | Presence::Foreign => self.stop_orphan(),
        }
    }
}
