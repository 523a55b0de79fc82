//! How an attempt starts: it waits until nothing of the last attempt is left, notes the new attempt in the status, and creates
//! the children.

use std::time::Duration;

use crds::{
    Outcome, Reason, Reported,
    status::{Attempt, MAX_ATTEMPTS, Phase, Resolved},
};

use super::{
    Child, InputError, LauncherInput, Plan, Presence, Refused, Stop, config_map,
    decision::{Decision, OFTEN, SOON, seconds_since},
    job, meta, pvc,
    status::{self, NextStatus},
};

/// The next look while a ConfigMap has been missing for a long time.
const SELDOM: Duration = Duration::from_secs(60);

impl Decision<'_> {
    /// Starts the next attempt once nothing of the last one is left.
    pub(super) fn begin(&self) -> Plan {
        if let Some(last) = self.before.attempts.last()
            && (self.observed.job.presence == Presence::Ours || self.observed.pod.name.is_some())
        {
            return self.wait_for_end_of(last);
        }
        let input = match &self.observed.input {
            Some(Ok(input)) => input,
            Some(Err(error)) => return self.input_failed(error),
            None => return Plan { again: true, status: self.before.clone(), ..Plan::default() },
        };
        let number = input.run.run.attempt;
        let mut plan = self.status_plan(NextStatus::new(
            Phase::Preparing,
            Reason::Preparing,
            "the operator creates ConfigMap, claim and Job",
        ));
        plan.status.resolved = Some(self.resolved(input));
        plan.status.effective_spec = Some(self.effective.clone());
        add_attempt(
            &mut plan.status.attempts,
            Attempt {
                number,
                job_name: meta::attempt_name(self.run, number),
                job_uid: None,
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
        // The attempt is in the status before its Job exists, so that an operator that crashes in between finds the Job again.
        plan.again = true;
        plan
    }

    /// Waits until Job and pod of the last attempt are gone: two attempts at once would distort each other's figures, and only
    /// one node at a time can mount the volume.
    fn wait_for_end_of(&self, last: &Attempt) -> Plan {
        let (job, pod) = (&self.observed.job, &self.observed.pod);
        let limit = self.effective.execution.deadlines.prepare_seconds;
        if last.end_time.is_some_and(|it| seconds_since(it, self.turn.now) > limit) {
            let what = pod.name.as_ref().unwrap_or(&last.job_name);
            let message = format!(
                "{what} of the last attempt was not gone within {limit} seconds (execution.deadlines.prepareSeconds); see whether its node is lost"
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
        plan.next_look = Some(SOON);
        plan
    }

    fn resolved(&self, input: &LauncherInput) -> Resolved {
        Resolved {
            endpoint: input.run.endpoint.name().to_owned(),
            model: input.run.model.clone().unwrap_or_default(),
            profile_sha256: input.profile_sha256.clone(),
        }
    }

    fn input_failed(&self, error: &InputError) -> Plan {
        let created = self.run.metadata.creation_timestamp.as_ref().map_or(self.turn.now, |it| it.0);
        let limit = self.effective.execution.deadlines.prepare_seconds;
        let age = seconds_since(created, self.turn.now);
        if error.reason != Reason::ProfileNotFound {
            return self.finish(Phase::Failed, Outcome::Error, error.reason, &error.message);
        }
        if self.attempt().is_none() && age < limit {
            // `kubectl apply -f folder/` may create the ConfigMap shortly after the run.
            let message =
                format!("{}\nthe run waits for it {limit} seconds (execution.deadlines.prepareSeconds)", error.message);
            let mut plan = self.status_plan(NextStatus::new(Phase::Pending, Reason::ProfileNotFound, message));
            // Each turn reads whole ConfigMaps, so that a run that has waited long gets fewer turns.
            let wait = Duration::from_secs(u64::from(age / 10)).clamp(SOON, SELDOM);
            plan.next_look = Some(wait.min(Duration::from_secs(u64::from(limit - age) + 1)));
            return plan;
        }
        let message = format!("{}\nthis run has ended; create it again when that is done", error.message);
        self.finish(Phase::Failed, Outcome::Error, error.reason, &message)
    }

    pub(super) fn conflict(&self, name: &str) -> Plan {
        let message =
            format!("an object of another owner has the name {name}; delete it, or give the run another name");
        self.finish(Phase::Failed, Outcome::Error, Reason::NameConflict, &message)
    }

    /// Creates the children. The Job is the last, because it mounts the others.
    pub(super) fn create(&self, attempt: &Attempt) -> Plan {
        if self.observed.config_map == Presence::Foreign {
            return self.conflict(&attempt.job_name);
        }
        let input = match &self.observed.input {
            Some(Ok(input)) => input,
            Some(Err(error)) => return self.input_failed(error),
            None => return Plan { again: true, status: self.before.clone(), ..Plan::default() },
        };
        if let Some(refused) = &self.observed.refused {
            return self.creation_refused(refused);
        }
        let limit = self.effective.execution.deadlines.prepare_seconds;
        if seconds_since(attempt.start_time, self.turn.now) > limit {
            let last = self.last_message();
            let message = format!(
                "ConfigMap, claim and Job were not created within {limit} seconds (execution.deadlines.prepareSeconds); the last message was: {last}"
            );
            return self.end_attempt(Reason::PrepareTimeout, &message, None);
        }
        let mut plan = self.status_plan(NextStatus::new(Phase::Starting, Reason::PodStarting, self.starting()));
        // A ConfigMap of an earlier turn is kept, and with it the values of that turn.
        if self.observed.config_map == Presence::Absent || plan.status.resolved.is_none() {
            plan.status.resolved = Some(self.resolved(input));
        }
        plan.status.effective_spec = Some(self.effective.clone());
        plan.create = self.children(attempt, input);
        plan.next_look = Some(OFTEN);
        plan
    }

    /// Puts the API server's message into the status. The loop decides whether to try again.
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
        if let Some(pvc) = self.effective.storage.pvc.as_ref().filter(|_| !self.observed.claim.exists) {
            children.push(Child::Claim(Box::new(pvc::build(self.run, pvc))));
        }
        children.push(Child::Job(Box::new(job::build(self.run, attempt.number, &self.effective, self.turn.settings))));
        children
    }
}

/// Adds an attempt and drops the oldest above [`MAX_ATTEMPTS`]; suspended ones first, because they count towards no limit.
fn add_attempt(attempts: &mut Vec<Attempt>, attempt: Attempt) {
    attempts.push(attempt);
    while attempts.len() > MAX_ATTEMPTS {
        let first = attempts.iter().position(|it| it.reason == Reason::Suspended).unwrap_or(0);
        attempts.remove(first);
    }
}
