//! Plans for a run some of whose objects cannot be read. Its deadlines still apply, and the status reports what cannot be read.

use crds::{
    Reason,
    status::{Attempt, Phase},
};
use jiff::Timestamp;

use super::{
    Plan, Presence, Stop, Unread, What,
    decision::Decision,
    status::NextStatus,
    times::{LEEWAY_SECONDS, OFTEN, seconds_since},
};

/// The deadline that applies to an attempt whose Job or pods cannot be read.
struct Deadline {
    since: Timestamp,
    seconds: u32,
    reason: Reason,
    /// What did not happen in time, and the field with the limit, for the message.
    what: &'static str,
}

impl Decision<'_> {
    /// The first unread object of these kinds. `None` if all could be read.
    pub(super) fn unread(&self, whats: &[What]) -> Option<&Unread> {
        self.observed.unread.iter().find(|it| whats.contains(&it.what))
    }

    /// Waits until an object that the children need can be read, at most for `prepareSeconds`.
    pub(super) fn wait_to_prepare(&self, unread: &Unread, since: Timestamp) -> Plan {
        let limit = self.effective.execution.deadlines.prepare_seconds.max(self.llm_d_seconds());
        let phase = if self.before.attempts.is_empty() { Phase::Pending } else { Phase::Preparing };
        if seconds_since(since, self.turn.now) > limit {
            let message = format!(
                "ConfigMap, claim and Job were not created within {limit} seconds (execution.deadlines.prepareSeconds): {}",
                unread.message
            );
            return self.end_attempt(Reason::PrepareTimeout, &message, None);
        }
        self.wait_to_read(phase, unread)
    }

    /// Plans for an attempt whose Job or pods cannot be read, unless it is known that it has ended.
    pub(super) fn watch_unread(&self, attempt: &Attempt, unread: &Unread) -> Plan {
        let Deadline { since, seconds, reason, what } = self.deadline(attempt);
        if seconds_since(since, self.turn.now) > seconds {
            let message = format!("{what} within {seconds} seconds: {}", unread.message);
            return self.give_up(reason, &message);
        }
        if attempt.running_time.is_none() && self.observed.pod.ready {
            return self.running(attempt);
        }
        self.wait_to_read(self.before.phase.unwrap_or(Phase::Starting), unread)
    }

    fn deadline(&self, attempt: &Attempt) -> Deadline {
        let (job, deadlines) = (&self.observed.job, &self.effective.execution.deadlines);
        if let Some(since) = job.ended_at {
            let what = "the result could not be read (execution.deadlines.collectSeconds)";
            return Deadline { since, seconds: deadlines.collect_seconds, reason: Reason::DeadlineExceeded, what };
        }
        if let Some(since) = attempt.running_time {
            let seconds = self.effective.launcher_seconds().saturating_add(LEEWAY_SECONDS);
            let what = "the launcher was not seen to end (execution.deadlines.runSeconds)";
            return Deadline { since, seconds, reason: Reason::DeadlineExceeded, what };
        }
        let since = self.job_created(attempt);
        let what = "the launcher was not seen to measure (execution.deadlines.startSeconds)";
        Deadline { since, seconds: deadlines.start_seconds, reason: Reason::StartTimeout, what }
    }

    pub(super) fn wait_to_read(&self, phase: Phase, unread: &Unread) -> Plan {
        let mut plan = self.status_plan(NextStatus::new(phase, Reason::ReadFailed, &unread.message));
        plan.next_look = Some(OFTEN);
        plan
    }

    /// Stops an attempt whose Job or pods cannot be read. It deletes the Job whose UID is in the status. The pod is deleted with the Job.
    pub(super) fn stop_unseen(&self, attempt: &Attempt) -> Option<Stop> {
        let deleting = self.observed.job.presence == Presence::Ours && self.observed.job.deleting;
        (attempt.job_uid.is_some() && !deleting).then(|| Stop::Job(attempt.job_name.clone()))
    }

    /// When the run began to wait to be prepared. The result is later if no operator was running, or if the run was suspended or waited in line: that
    /// time does not count.
    pub(super) fn preparing_since(&self) -> Timestamp {
        let since = self.before.preparing_since.unwrap_or(self.turn.now);
        let attempt = self.before.attempts.last().map(|it| it.end_time.unwrap_or(it.start_time));
        [attempt, self.observed.last_in_line, self.server_ready_time()]
            .into_iter()
            .flatten()
            .fold(since, Timestamp::max)
    }
}
