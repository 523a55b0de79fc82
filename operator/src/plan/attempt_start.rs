//! How an attempt starts: when nothing of the last one is left, the intent goes into the status, and then the children are made.

use std::time::Duration;

use crds::{
    Outcome, Reason, Reported,
    resolve::claim,
    status::{Attempt, MAX_ATTEMPTS, Phase, Resolved},
};

use super::{
    Child, InputError, LauncherInput, Plan, Presence, Refused, Stop, config_map,
    decision::{Decision, OFTEN, SOON, seconds_since},
    job, meta, pvc,
    status::{self, NextStatus},
};

/// While a ConfigMap has been missing for long.
const SELDOM: Duration = Duration::from_secs(60);

impl Decision<'_> {
    /// Starts another attempt, once nothing of the last one is left.
    pub(super) fn begin(&self) -> Plan {
        if let Some(last) = self.before.attempts.last()
            && (self.observed.job.presence == Presence::Ours || self.observed.pod.name.is_some())
        {
            return self.wait_for_end_of(last);
        }
        let input = match &self.observed.input {
            Some(Ok(input)) => input,
            Some(Err(refusal)) => return self.input_failed(refusal),
            None => return Plan { again: true, status: self.before.clone(), ..Plan::default() },
        };
        let number = input.run.run.attempt;
        let mut plan =
            self.status_plan(NextStatus::new(Phase::Preparing, Reason::Preparing, "makes ConfigMap, volume and Job"));
        plan.status.resolved = Some(self.resolved(input));
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
        // The intent is in the status before the Job exists; a crash in between leaves nothing that is not accounted for.
        plan.again = true;
        plan
    }

    /// Two attempts at once would disturb each other, and a volume can be mounted by one node at a time.
    fn wait_for_end_of(&self, last: &Attempt) -> Plan {
        let (job, pod) = (&self.observed.job, &self.observed.pod);
        let limit = self.run.spec.execution.deadlines.prepare_seconds;
        if last.end_time.is_some_and(|it| seconds_since(it, self.turn.now) > limit) {
            let what = pod.name.as_ref().unwrap_or(&last.job_name);
            let message = format!(
                "{what} of the last attempt was not gone within {limit} seconds (execution.deadlines.prepareSeconds); see whether its node is lost"
            );
            return self.finish(Phase::Failed, Outcome::Error, Reason::PrepareTimeout, &message);
        }
        let message = format!("waits until {} is gone, before attempt {}", last.job_name, last.number + 1);
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
            launcher_image: job::image(self.run, self.turn.settings),
            profile_sha256: input.profile_sha256.clone(),
        }
    }

    fn input_failed(&self, refusal: &InputError) -> Plan {
        let created = self.run.metadata.creation_timestamp.as_ref().map_or(self.turn.now, |it| it.0);
        let limit = self.run.spec.execution.deadlines.prepare_seconds;
        let age = seconds_since(created, self.turn.now);
        if refusal.reason != Reason::ProfileNotFound {
            return self.finish(Phase::Failed, Outcome::Error, refusal.reason, &refusal.message);
        }
        if self.attempt().is_none() && age < limit {
            // `kubectl apply -f folder/` may bring the ConfigMap a moment after the run.
            let message = format!(
                "{}\nthe run waits for it {limit} seconds (execution.deadlines.prepareSeconds)",
                refusal.message
            );
            let mut plan = self.status_plan(NextStatus::new(Phase::Pending, Reason::ProfileNotFound, message));
            // Each look reads whole ConfigMaps: a run that has waited for long looks less often.
            let seldom = Duration::from_secs(u64::from(age / 10)).clamp(SOON, SELDOM);
            plan.next_look = Some(seldom.min(Duration::from_secs(u64::from(limit - age) + 1)));
            return plan;
        }
        let message = format!("{}\nthis run has ended: then create the run anew", refusal.message);
        self.finish(Phase::Failed, Outcome::Error, refusal.reason, &message)
    }

    pub(super) fn conflict(&self, name: &str) -> Plan {
        let message =
            format!("an object of another owner has the name {name}; delete it, or give the run another name");
        self.finish(Phase::Failed, Outcome::Error, Reason::NameConflict, &message)
    }

    /// Makes the children. The Job comes last, when all that it mounts is there.
    pub(super) fn create(&self, attempt: &Attempt) -> Plan {
        if self.observed.config_map == Presence::Foreign {
            return self.conflict(&attempt.job_name);
        }
        let input = match &self.observed.input {
            Some(Ok(input)) => input,
            Some(Err(refusal)) => return self.input_failed(refusal),
            None => return Plan { again: true, status: self.before.clone(), ..Plan::default() },
        };
        if let Some(refused) = &self.observed.refused {
            return self.creation_refused(refused);
        }
        let limit = self.run.spec.execution.deadlines.prepare_seconds;
        if seconds_since(attempt.start_time, self.turn.now) > limit {
            let last = self.last_message();
            let message = format!(
                "ConfigMap, volume and Job were not made within {limit} seconds (execution.deadlines.prepareSeconds); the last was: {last}"
            );
            return self.end_attempt(Reason::PrepareTimeout, &message, None);
        }
        let mut plan = self.status_plan(NextStatus::new(Phase::Starting, Reason::PodStarting, self.starting()));
        plan.status.resolved = Some(self.resolved(input));
        plan.create = self.children(attempt, input);
        plan.next_look = Some(OFTEN);
        plan
    }

    /// Tells what the API server said. Whether it is asked again is the loop's.
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
        if let Some(pvc) = claim(&self.run.spec).filter(|_| !self.observed.claim.exists) {
            children.push(Child::Claim(Box::new(pvc::build(self.run, &pvc))));
        }
        children.push(Child::Job(Box::new(job::build(self.run, attempt.number, self.turn.settings))));
        children
    }
}

/// Adds an attempt; what does not fit goes, the suspended ones first, because they count against no limit.
fn add_attempt(attempts: &mut Vec<Attempt>, attempt: Attempt) {
    attempts.push(attempt);
    while attempts.len() > MAX_ATTEMPTS {
        let first = attempts.iter().position(|it| it.reason == Reason::Suspended).unwrap_or(0);
        attempts.remove(first);
    }
}
