//! Finds out why a launcher was stopped before its regular end.
//!
//! If a pod is drained or preempted, or if its node is lost, it reports the cause before it is deleted. If the kubelet evicts the pod, or if the node
//! shuts down, the kubelet first reports the end of the container. It reports the cause later, when all containers of the pod have ended: in the
//! pod's phase with a reason, or in the condition DisruptionTarget.

use crds::{
    Outcome, Reason,
    status::{Attempt, Phase},
};

use super::{
    Ended, Plan,
    decision::Decision,
    status::NextStatus,
    termination_message,
    times::{SOON, seconds_since},
};

/// Exit codes of a process that was ended by SIGKILL or SIGTERM.
const KILLED: [i32; 2] = [137, 143];

impl Decision<'_> {
    /// Waits until the pod of a stopped launcher reports the cause, at most `collectSeconds` after the end of the launcher. `None` if there is
    /// nothing to wait for.
    pub(super) fn await_cause(&self, attempt: &Attempt) -> Option<Plan> {
        let (job, pod, ended) = (&self.observed.job, &self.observed.pod, self.observed.ended.as_ref()?);
        let since = pod.ended_at.filter(|_| pod.held && pod.deleting.is_none())?;
        // If the Job has ended, the wait is also limited from that time, in case the clock of the node is ahead.
        let job_ended = job.deleting || job.complete || job.failed.is_some();
        let limit = self.effective.execution.deadlines.collect_seconds;
        if job_ended || seconds_since(since, self.turn.now) > limit || !self.was_stopped(attempt, ended) {
            return None;
        }
        let message = "something stopped the launcher; the operator waits until its pod has ended, to read the cause";
        let mut plan = self.status_plan(NextStatus::new(Phase::Collecting, Reason::ReadingResult, message));
        plan.next_look = Some(SOON);
        Some(plan)
    }

    /// Whether the launcher was stopped and the cause is not known yet.
    fn was_stopped(&self, attempt: &Attempt, ended: &Ended) -> bool {
        let stopped = match termination_message::read(self.run, attempt.number, ended) {
            Ok(envelope) => envelope.core.outcome == Outcome::Cancelled,
            Err(failure) => failure.reason == Reason::LauncherFailed && KILLED.contains(&ended.exit_code),
        };
        stopped && ended.disrupted.is_none()
    }

    /// Describes what might have stopped the launcher, for the message.
    pub(super) fn cause(&self) -> &str {
        let (pod, ended) = (&self.observed.pod, self.observed.ended.as_ref());
        match ended.and_then(|it| it.disrupted.as_deref()) {
            Some(why) => why,
            None if pod.name.is_none() || pod.deleting.is_some() => "somebody else deleted its pod",
            None => "something stopped its launcher, and its pod does not show the cause",
        }
    }
}
