//! Handles a Job that waits for its queue, or that its queue has stopped. Kueue suspends and resumes such Jobs. The operator creates them suspended,
//! so no such Job starts in a cluster without Kueue.

use std::{collections::BTreeMap, time::Duration};

use crds::{
    Outcome, Reason,
    status::{Attempt, MAX_ATTEMPTS, Phase},
};
use k8s_openapi::api::batch::v1::Job;

use super::{
    Plan, Wanted,
    decision::Decision,
    status::NextStatus,
    times::{OFTEN, seconds_since},
};

/// The label on a Job with the name of its queue. Kueue reads it.
const QUEUE_NAME: &str = "kueue.x-k8s.io/queue-name";
/// Time in seconds for which the queue might be missing before the run counts as stalled. The queue can be created shortly after the run.
const MISSING_SECONDS: u32 = 60;
/// Time to the next reconciliation of a run that has waited for long. When the queue admits the Job, a reconciliation starts immediately.
const SELDOM: Duration = Duration::from_secs(60);

/// Puts a Job into a queue.
pub(super) fn enqueue(job: &mut Job, queue: &str) {
    let labels: &mut BTreeMap<_, _> = job.metadata.labels.get_or_insert_default();
    labels.insert(QUEUE_NAME.into(), queue.into());
    if let Some(spec) = &mut job.spec {
        spec.suspend = Some(true);
    }
}

impl Decision<'_> {
    /// Plans for an attempt whose Job is suspended and has not ended.
    pub(super) fn watch_suspended(&self, attempt: &Attempt) -> Plan {
        let (observed, queue) = (self.observed, self.run.spec.queue_name.as_deref());
        let has_begun = attempt.pod_uid.is_some() || attempt.running_time.is_some();
        if has_begun || observed.pod.name.is_some() || observed.ended.is_some() {
            let by = match queue {
                Some(queue) => format!("queue {queue:?} evicted the run"),
                None => "something suspended its Job".to_owned(),
            };
            return self.give_up(Reason::Suspended, &format!("{by}; the attempt is lost, and another one follows"));
        }
        let age = seconds_since(observed.job.created.unwrap_or(attempt.start_time), self.turn.now);
        if let Some(plan) = self.let_others_in(attempt) {
            return plan;
        }
        let mut plan = match queue {
            Some(queue) => self.queued(queue, age),
            None => self.status_plan(NextStatus::new(
                Phase::Suspended,
                Reason::Queued,
                format!("something suspended Job {}, such as a queue that takes every Job", attempt.job_name),
            )),
        };
        plan.next_look = Some(if age < MISSING_SECONDS { OFTEN } else { SELDOM });
        plan
    }

    /// Ends an attempt that its queue has not admitted in time, while other runs wait for its target or slot. If the queue does not exist, the run
    /// fails, because no retry could succeed. Otherwise the run retries. Each further attempt can wait twice as long, because a new Job starts at the
    /// end of the queue.
    fn let_others_in(&self, attempt: &Attempt) -> Option<Plan> {
        let Wanted { since, limit } = self.observed.wanted?;
        let since = since.max(self.observed.job.created.unwrap_or(attempt.start_time));
        let waited = seconds_since(since, self.turn.now);
        if self.observed.queue.as_ref().is_some_and(|it| !it.exists) && waited >= limit.min(MISSING_SECONDS) {
            let queue = self.run.spec.queue_name.as_deref().unwrap_or_default();
            let message = format!(
                "spec.queueName: is {queue:?}, and the namespace has no such LocalQueue of Kueue; the run ended because other runs wait for its target; create the queue, then create the run again"
            );
            return Some(self.finish(Phase::Failed, Outcome::Error, Reason::QueueNotFound, &message));
        }
        let suspended = self.before.attempts.iter().filter(|it| it.reason == Reason::Suspended).count();
        let limit = limit.saturating_mul(1 << suspended.min(MAX_ATTEMPTS));
        let message = format!(
            "the queue has not admitted the attempt within {limit} seconds, and other runs are waiting; this attempt ends, and the next one starts after those runs"
        );
        (waited >= limit).then(|| self.give_up(Reason::Suspended, &message))
    }

    /// The status of a run that waits for its queue. `age` is the time since the creation of its Job, in seconds.
    pub(super) fn queued(&self, queue: &str, age: u32) -> Plan {
        let state = self.observed.queue.as_ref();
        if age >= MISSING_SECONDS && state.is_some_and(|it| !it.exists) {
            let message = format!(
                "spec.queueName: is {queue:?}, and the namespace has no such LocalQueue of Kueue; create it, or install Kueue, and the run goes on"
            );
            return self.status_plan(NextStatus::new(Phase::Suspended, Reason::QueueNotFound, message));
        }
        let mut message = format!("the run waits for queue {queue:?}");
        match state.map(|it| it.message.as_str()) {
            Some("") | None => {}
            Some(why) => message = format!("{message}: {why}"),
        }
        if let Some(unread) = self.unread(&[super::What::Queue]) {
            message = format!("{message}; {}", unread.message);
        }
        self.status_plan(NextStatus::new(Phase::Suspended, Reason::Queued, message))
    }
}
