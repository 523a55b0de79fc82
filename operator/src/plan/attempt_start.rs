//! The start of an attempt. It waits until everything of the last attempt is gone, records the new attempt in the status, and creates the child
//! objects.

use std::time::Duration;

use crds::{
    Outcome, Reason, Reported,
    status::{Attempt, MAX_ATTEMPTS, Phase, Resolved},
};

use super::{
    Child, InputError, LauncherInput, Plan, Presence, Refused, Stop, What, config_map,
    decision::Decision,
    exclusive::{self, Target},
    job, meta, network_policy, pvc, queue,
    status::{self, NextStatus},
    times::{OFTEN, SOON, seconds_since},
};

/// Time to the next reconciliation if a ConfigMap has been missing for a long time.
const SELDOM: Duration = Duration::from_secs(60);

/// Time to the next reconciliation of the first run in its namespace's line.
const NEXT_IN_LINE: Duration = Duration::from_secs(5);
/// Maximum time to the next reconciliation of any other run in the line.
const LAST_IN_LINE: Duration = Duration::from_secs(600);

impl Decision<'_> {
    /// Starts the next attempt, after everything of the last attempt is gone.
    pub(super) fn begin(&self) -> Plan {
        if let Some(last) = self.before.attempts.last()
            && (self.observed.is_attempt_left() || self.unread(&[What::Job, What::Pods]).is_some())
        {
            return self.wait_for_end_of(last);
        }
        if let Some(plan) = self.renew_server() {
            return plan;
        }
        // Unread Jobs and pods here belong to other runs that occupied the target. The objects of this run were checked above.
        if let Some(unread) = self.unread(&[What::Job, What::Pods, What::Claim, What::Input]) {
            return self.wait_to_prepare(unread, self.preparing_since());
        }
        let input = match &self.observed.input {
            Some(Ok(input)) => input,
            Some(Err(error)) => return self.input_failed(error),
            None => return Plan { again: true, status: self.before.clone(), ..Plan::default() },
        };
        if let Some(denied) = self.claim_denied() {
            return denied;
        }
        if let Some(wait) = &self.observed.wait {
            return self.wait_in_line(wait, input);
        }
        if let Some(position) = self.observed.namespace_line {
            return self.wait_for_namespace(position);
        }
        let number = input.run.run.attempt;
        let mut plan = self.status_plan(NextStatus::new(
            Phase::Preparing,
            Reason::Preparing,
            "the operator creates ConfigMap, claim and Job",
        ));
        plan.status.resolved = Some(self.resolved(input));
        plan.status.effective_spec = Some(Box::new(self.effective.clone()));
        plan.status.server = self.server_of_attempt();
        add_attempt(
            &mut plan.status.attempts,
            Attempt {
                number,
                job_name: meta::attempt_name(self.run, number),
                job_uid: None,
                config_map_uid: None,
                pod_name: String::new(),
                pod_uid: None,
                node_name: String::new(),
                image_id: String::new(),
                start_time: self.turn.now,
                running_time: None,
                end_time: None,
                reason: Reported::default(),
            },
        );
        // All earlier attempts have ended, so their NetworkPolicies can be deleted.
        let ended = self.before.attempts.iter().filter(|_| self.turn.settings.network_policy.is_some());
        plan.delete_policies = ended.map(|it| it.job_name.clone()).collect();
        plan.delete_config_maps = outdated_config_maps(&self.before.attempts, &plan.status.attempts);
        // The attempt is in the status before its Job exists. If the operator crashes in between, it finds the Job again after its restart.
        plan.again = true;
        plan
    }

    /// Waits until the Job and pod of the last attempt are gone. Two concurrent attempts would distort each other's figures, and only one node at a
    /// time can mount the volume.
    fn wait_for_end_of(&self, last: &Attempt) -> Plan {
        let (job, pod) = (&self.observed.job, &self.observed.pod);
        if let Some(unread) = self.unread(&[What::Job, What::Pods]) {
            return self.wait_to_prepare(unread, self.preparing_since());
        }
        let limit = self.effective.execution.deadlines.prepare_seconds;
        if last.end_time.is_some_and(|it| seconds_since(it, self.turn.now) > limit) {
            let what = pod.name.as_ref().unwrap_or(&last.job_name);
            let message = format!(
                "{what} of the last attempt was not gone within {limit} seconds (execution.deadlines.prepareSeconds); check whether its node is lost"
            );
            return self.finish(Phase::Failed, Outcome::Error, Reason::PrepareTimeout, &message);
        }
        let message = format!("attempt {1} starts when {0} is gone", last.job_name, last.number + 1);
        let mut plan = self.status_plan(NextStatus::new(Phase::Preparing, Reason::Retrying, message));
        plan.stop = match (&pod.name, job.presence) {
            (_, Presence::Ours) => (!job.deleting).then(|| Stop::Job(last.job_name.clone())),
            (Some(pod_name), _) => pod.deleting.is_none().then(|| Stop::Pod(pod_name.clone())),
            (None, _) => None,
        };
        plan.stop_pods.clone_from(&self.observed.other_pods);
        plan.next_look = Some(SOON);
        plan
    }

    pub(super) fn resolved(&self, input: &LauncherInput) -> Resolved {
        Resolved {
            endpoint: input.run.endpoint.name().to_owned(),
            model: input.run.model.clone().unwrap_or_default(),
            profile_sha256: input.profile_sha256.clone(),
        }
    }

    fn input_failed(&self, error: &InputError) -> Plan {
        if let Some(plan) = self.wait_for_llm_d(error) {
            return plan;
        }
        let limit = self.effective.execution.deadlines.prepare_seconds;
        let age = seconds_since(self.preparing_since(), self.turn.now);
        if ![Reason::ProfileNotFound, Reason::TargetNotFound].contains(&error.reason) {
            return self.finish(Phase::Failed, Outcome::Error, error.reason, &error.message);
        }
        if age < limit {
            // The ConfigMap can still be missing because `kubectl apply -f folder/` creates it after the run.
            let message = format!(
                "{}\nthe run waits for this at most {limit} seconds (execution.deadlines.prepareSeconds)",
                error.message
            );
            let phase = if self.attempt().is_some() { Phase::Preparing } else { Phase::Pending };
            let mut plan = self.status_plan(NextStatus::new(phase, error.reason, message));
            // Each reconciliation reads whole ConfigMaps, so the time between two reconciliations grows with the time that the run has waited.
            let wait = Duration::from_secs(u64::from(age / 10)).clamp(SOON, SELDOM);
            plan.next_look = Some(wait.min(Duration::from_secs(u64::from(limit - age) + 1)));
            return plan;
        }
        let message = format!("{}\nthis run has ended; correct this, then create the run again", error.message);
        self.finish(Phase::Failed, Outcome::Error, error.reason, &message)
    }

    /// Waits until the namespace has a free slot. This time counts toward no deadline.
    fn wait_for_namespace(&self, position: usize) -> Plan {
        let message = format!(
            "number {position} in line: the namespace runs as many attempts at once as its administrators allow (limits.maxConcurrentAttempts)"
        );
        let mut plan = self.status_plan(NextStatus::new(Phase::Pending, Reason::NamespaceBusy, message));
        // The end of another run wakes the first runs in line. This timer is only needed if that wake-up is lost.
        let seconds = u64::try_from(position.saturating_sub(1)).unwrap_or(u64::MAX).saturating_mul(6);
        plan.next_look = Some(Duration::from_secs(seconds).clamp(NEXT_IN_LINE, LAST_IN_LINE));
        plan
    }

    /// Ends the run if the claim for its results belongs to somebody else.
    fn claim_denied(&self) -> Option<Plan> {
        let pvc = self.effective.storage.pvc.as_ref().filter(|_| self.observed.claim.of_others)?;
        Some(self.finish(Phase::Failed, Outcome::Error, Reason::PolicyDenied, &pvc::refusal(pvc)))
    }

    pub(super) fn conflict(&self, name: &str) -> Plan {
        let message =
            format!("an object of another owner has the name {name}; delete it, or give the run another name");
        self.finish(Phase::Failed, Outcome::Error, Reason::NameConflict, &message)
    }

    /// Creates the child objects. The Job is created last because it mounts the others.
    pub(super) fn create(&self, attempt: &Attempt) -> Plan {
        if self.observed.config_map == Presence::Foreign {
            let message = format!(
                "ConfigMap {} exists and is not what the operator would write: somebody else created it, or the profile or the operator's settings changed before the operator could note that it had created it; delete it and create the run again",
                attempt.job_name
            );
            return self.finish(Phase::Failed, Outcome::Error, Reason::NameConflict, &message);
        }
        // The wait for a server has its own deadlines and does not count here.
        let since = self.server_ready_time().map_or(attempt.start_time, |it| it.max(attempt.start_time));
        if let Some(unread) = self.unread(&[What::Job, What::Claim, What::Input]) {
            return self.wait_to_prepare(unread, since);
        }
        let input = match &self.observed.input {
            Some(Ok(input)) => input,
            Some(Err(error)) => return self.input_failed(error),
            None => return Plan { again: true, status: self.before.clone(), ..Plan::default() },
        };
        if let Some(denied) = self.claim_denied() {
            return denied;
        }
        if let Some(name) = &self.observed.conflict {
            return self.conflict(name);
        }
        if let Some(refused) = &self.observed.refused {
            return self.creation_refused(refused);
        }
        if let Some(plan) = self.start_server() {
            return plan;
        }
        let limit = self.effective.execution.deadlines.prepare_seconds;
        if seconds_since(since, self.turn.now) > limit {
            let last = self.last_message();
            let message = format!(
                "ConfigMap, claim and Job were not created within {limit} seconds (execution.deadlines.prepareSeconds); the last message was: {last}"
            );
            return self.end_attempt(Reason::PrepareTimeout, &message, None);
        }
        let mut plan = match &self.run.spec.queue_name {
            Some(queue) => self.queued(queue, 0),
            None => self.status_plan(NextStatus::new(Phase::Starting, Reason::PodStarting, self.starting())),
        };
        // The attempt runs the content of its ConfigMap. If an earlier reconciliation has created the ConfigMap, `input` was read from it.
        plan.status.resolved = Some(self.resolved(input));
        plan.status.effective_spec = Some(Box::new(self.effective.clone()));
        plan.create = self.children(attempt, input);
        plan.next_look = Some(OFTEN);
        plan
    }

    /// Writes the reason why a child could not be created into the status. The loop decides whether it retries.
    fn creation_refused(&self, refused: &Refused) -> Plan {
        if refused.for_good {
            return self.finish(Phase::Failed, Outcome::Error, Reason::InvalidSpec, &refused.message);
        }
        let mut plan = self.status_plan(NextStatus::new(Phase::Preparing, Reason::Preparing, &refused.message));
        if self.last_message() != status::truncate_message(&refused.message) {
            plan.event = Some(status::warning(Reason::Preparing, &refused.message));
        }
        plan
    }

    fn children(&self, attempt: &Attempt, input: &LauncherInput) -> Vec<Child> {
        let mut children = Vec::new();
        if self.observed.config_map == Presence::Absent {
            children.push(Child::ConfigMap(Box::new(config_map::build(self.run, &input.run, &input.profile))));
        }
        if let Some(settings) = &self.turn.settings.network_policy {
            let egress = input.run.egress.as_ref();
            let (reach, is_governed) = (&self.observed.reach, self.observed.governed.egress);
            let policy = network_policy::build(self.run, attempt.number, reach, is_governed, settings, egress);
            children.push(Child::NetworkPolicy(Box::new(policy)));
        }
        if let Some(pvc) = self.effective.storage.pvc.as_ref().filter(|_| !self.observed.claim.exists) {
            children.push(Child::Claim(Box::new(pvc::build(self.run, pvc))));
        }
        let mut job = job::build(self.run, attempt.number, &self.effective, self.turn.settings);
        if let Some(target) = Target::of_input(&self.run.spec, &input.run, self.turn.settings) {
            exclusive::label(&mut job, target.key);
        }
        if let Some(token) = &self.observed.server.log_token {
            job::add_log_token(&mut job, token);
        }
        if let Some(queue) = &self.run.spec.queue_name {
            queue::enqueue(&mut job, queue);
        }
        children.push(Child::Job(Box::new(job)));
        children
    }
}

/// The ConfigMaps that the new attempt does not need. The new attempt is the last entry of `after`, and reads the ConfigMap of the entry before it.
/// Only the last two attempts in `before` can still have a ConfigMap.
fn outdated_config_maps(before: &[Attempt], after: &[Attempt]) -> Vec<(String, String)> {
    let read = after.iter().rev().nth(1).map(|it| it.number);
    let outdated = before.iter().rev().take(2).filter(|it| Some(it.number) != read);
    outdated.filter_map(|it| Some((it.job_name.clone(), it.config_map_uid.clone()?))).collect()
}

/// Appends an attempt. If there are then more than [`MAX_ATTEMPTS`], drops the oldest: first suspended attempts, because they count toward no limit.
fn add_attempt(attempts: &mut Vec<Attempt>, attempt: Attempt) {
    attempts.push(attempt);
    while attempts.len() > MAX_ATTEMPTS {
        let first = attempts.iter().position(|it| it.reason == Reason::Suspended).unwrap_or(0);
        attempts.remove(first);
    }
}

#[cfg(test)]
mod tests {
    use crds::Word as _;

    use super::*;

    /// Attempts with these reasons, numbered from 1, each with a ConfigMap.
    fn attempts(reasons: &[Reason]) -> Vec<Attempt> {
        let attempt = |(number, reason): (u32, &Reason)| {
            let value = serde_json::json!({
                "number": number, "jobName": format!("a{number}"), "configMapUID": format!("u{number}"),
                "startTime": "2026-01-02T03:04:05Z", "reason": reason.name(),
            });
            serde_json::from_value(value).unwrap()
        };
        (1..).zip(reasons).map(attempt).collect()
    }

    #[test]
    fn the_config_map_that_the_next_attempt_reads_stays() {
        use Reason::{Disrupted, Suspended};
        for (reasons, deleted) in [
            (&[Disrupted][..], &[][..]),
            (&[Disrupted, Suspended], &["a1"]),
            (&[Disrupted, Suspended, Disrupted], &["a2"]),
            // The list is full. The suspended attempt is dropped, and the new attempt reads the ConfigMap of the attempt before it.
            (&[Disrupted, Disrupted, Disrupted, Disrupted, Suspended], &["a5"]),
            (&[Suspended, Disrupted, Disrupted, Disrupted, Suspended], &["a4"]),
        ] {
            let before = attempts(reasons);
            let mut after = before.clone();
            let next = Attempt { number: before.len() as u32 + 1, ..before[0].clone() };
            add_attempt(&mut after, next);
            let found = outdated_config_maps(&before, &after);
            let found: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(found, deleted, "{reasons:?}");
        }
    }
}
