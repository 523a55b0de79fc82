//! Which phase a run is in and which may follow.

use std::time::Duration;

use crds::{
    BenchmarkRun, BenchmarkRunStatus, Envelope, Outcome,
    benchmark_run::{Cancel, RetryCause},
    resolve::claim,
    status::{Attempt, MAX_ATTEMPTS, Phase, Resolved},
};
use jiff::Timestamp;

use super::{
    Child, End, LauncherInput, Observed, Plan, Presence, Refusal, Turn, config_map, job, meta, pvc,
    status::{self, Standing},
};
use crate::{reason::Reason, results};

/// While something is under way that no watch tells of.
const SOON: Duration = Duration::from_secs(2);
/// While an attempt starts or runs: a deadline may pass.
const OFTEN: Duration = Duration::from_secs(10);
/// How long past the run's own deadline and grace the operator waits before it ends an attempt.
const LEEWAY_SECONDS: u32 = 60;

/// Decides what is to be done now.
pub fn plan(run: &BenchmarkRun, observed: &Observed, turn: &Turn<'_>) -> Plan {
    let before = run.status.clone().unwrap_or_default();
    if before.phase.is_some_and(Phase::is_terminal) {
        return finished(run, before, turn.now);
    }
    let decision = Decision { run, observed, turn, before };
    if run.spec.cancel != Cancel::None {
        return decision.cancel();
    }
    if run.spec.suspend {
        return decision.suspend();
    }
    match decision.attempt().cloned() {
        None => decision.begin(),
        Some(attempt) => decision.follow(&attempt),
    }
}

/// The attempt that has not ended.
pub fn current_attempt(status: &BenchmarkRunStatus) -> Option<&Attempt> {
    status.attempts.last().filter(|it| it.end_time.is_none())
}

/// A run that has finished stays as it is, until its time is over.
fn finished(run: &BenchmarkRun, status: BenchmarkRunStatus, now: Timestamp) -> Plan {
    let mut plan = Plan { status, ..Plan::default() };
    let (Some(ttl), Some(finished)) = (&run.spec.ttl_seconds_after_finished, plan.status.completion_time) else {
        return plan;
    };
    let succeeded = plan.status.phase == Some(Phase::Succeeded);
    let seconds = if succeeded { ttl.succeeded } else { ttl.failed };
    let left = i64::from(seconds) - now.duration_since(finished).as_secs();
    match u64::try_from(left) {
        Ok(left) if left > 0 => plan.next_look = Some(Duration::from_secs(left)),
        _ => plan.delete_run = true,
    }
    plan
}

struct Decision<'a> {
    run: &'a BenchmarkRun,
    observed: &'a Observed,
    turn: &'a Turn<'a>,
    before: BenchmarkRunStatus,
}

impl Decision<'_> {
    fn attempt(&self) -> Option<&Attempt> {
        current_attempt(&self.before)
    }

    /// Starts another attempt, once nothing of the last one is left.
    fn begin(&self) -> Plan {
        let job = &self.observed.job;
        if let Some(last) = self.before.attempts.last()
            && job.presence == Presence::Ours
        {
            let message = format!("waits until {} is gone, before attempt {}", last.job_name, last.number + 1);
            let mut plan = self.stand(Standing::new(Phase::Preparing, Reason::Retrying, message));
            plan.end = (!job.deleting).then(|| End::Job(last.job_name.clone()));
            plan.next_look = Some(SOON);
            return plan;
        }
        let input = match &self.observed.input {
            Some(Ok(input)) => input,
            Some(Err(refusal)) => return self.refuse(refusal),
            None => return Plan { again: true, status: self.before.clone(), ..Plan::default() },
        };
        let number = input.run.run.attempt;
        let mut plan = self.stand(Standing::new(Phase::Preparing, Reason::Preparing, "makes ConfigMap, volume and Job"));
        plan.status.resolved = Some(Resolved {
            endpoint: input.run.endpoint.name().to_owned(),
            model: input.run.model.clone().unwrap_or_default(),
            launcher_image: job::image(self.run, self.turn.settings),
            profile_sha256: input.profile_sha256.clone(),
        });
        remember(&mut plan.status.attempts, Attempt {
            number,
            job_name: meta::attempt_name(self.run, number),
            start_time: self.turn.now,
            running_time: None,
            end_time: None,
            reason: String::new(),
        });
        // The intent is in the status before the Job exists; a crash in between leaves nothing that is not accounted for.
        plan.again = true;
        plan
    }

    fn refuse(&self, refusal: &Refusal) -> Plan {
        self.finish(Phase::Failed, Outcome::Error, refusal.reason, &refusal.message)
    }

    /// Goes on with an attempt whose intent is in the status.
    fn follow(&self, attempt: &Attempt) -> Plan {
        let job = &self.observed.job;
        match job.presence {
            Presence::Foreign => self.conflict(&attempt.job_name),
            Presence::Ours if job.deleting && self.observed.ended.is_none() => {
                self.end_attempt(Reason::JobLost, &format!("{} was deleted while it ran", attempt.job_name), None)
            }
            Presence::Ours => self.watch(attempt),
            Presence::Absent if self.before.phase == Some(Phase::Preparing) => self.create(attempt),
            Presence::Absent if self.observed.ended.is_some() => self.conclude(),
            Presence::Absent => {
                self.end_attempt(Reason::JobLost, &format!("{} was deleted while it ran", attempt.job_name), None)
            }
        }
    }

    fn conflict(&self, name: &str) -> Plan {
        let message = format!("an object of another owner has the name {name}; delete it, or give the run another name");
        self.finish(Phase::Failed, Outcome::Error, Reason::NameConflict, &message)
    }

    /// Makes the children. The Job comes last, when all that it mounts is there.
    fn create(&self, attempt: &Attempt) -> Plan {
        if self.observed.config_map == Presence::Foreign {
            return self.conflict(&attempt.job_name);
        }
        let input = match &self.observed.input {
            Some(Ok(input)) => input,
            Some(Err(refusal)) => return self.refuse(refusal),
            None => return Plan { again: true, status: self.before.clone(), ..Plan::default() },
        };
        if seconds_since(attempt.start_time, self.turn.now) > self.run.spec.policy.deadlines.prepare_seconds {
            let message = "ConfigMap, volume and Job were not made within policy.deadlines.prepareSeconds; the events tell why";
            return self.end_attempt(Reason::PrepareTimeout, message, None);
        }
        let mut plan = self.stand(Standing::new(Phase::Starting, Reason::PodStarting, "the pod is being made"));
        plan.create = self.children(attempt, input);
        plan.next_look = Some(OFTEN);
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

    /// Looks how far an attempt is whose Job exists.
    fn watch(&self, attempt: &Attempt) -> Plan {
        let (observed, deadlines) = (self.observed, &self.run.spec.policy.deadlines);
        if observed.ended.is_some() {
            return self.conclude();
        }
        if observed.job.failed.is_some() || observed.job.complete {
            return self.collect(attempt);
        }
        let now = self.turn.now;
        if let Some(running) = attempt.running_time {
            let limit = deadlines.run_seconds + self.run.spec.policy.grace_period_seconds + LEEWAY_SECONDS;
            if seconds_since(running, now) > limit {
                let message = format!("the launcher did not end within {limit} seconds; raise policy.deadlines.runSeconds");
                return self.give_up(attempt, Reason::DeadlineExceeded, &message);
            }
            return self.running(attempt);
        }
        if observed.pod.ready {
            return self.running(attempt);
        }
        let (reason, message) = self.why_not_running();
        if seconds_since(attempt.start_time, now) > deadlines.start_seconds {
            let limit = deadlines.start_seconds;
            let message = format!("the launcher did not measure within {limit} seconds (policy.deadlines.startSeconds): {message}");
            let reason = if reason == Reason::PodStarting || reason == Reason::TargetNotReady { Reason::StartTimeout } else { reason };
            return self.give_up(attempt, reason, &message);
        }
        let mut plan = self.stand(Standing::new(Phase::Starting, reason, message));
        plan.next_look = Some(until(attempt.start_time, deadlines.start_seconds, now));
        plan
    }

    fn running(&self, attempt: &Attempt) -> Plan {
        let mut plan = self.stand(Standing::new(Phase::Running, Reason::Measuring, "the launcher measures"));
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
        let pending = claim(&self.run.spec).filter(|_| !self.observed.claim.bound);
        match (&pod.unschedulable, &pod.waiting, pending) {
            (Some(why), _, Some(pvc)) => {
                let class = &self.observed.claim.class;
                let class = if class.is_empty() { "the default StorageClass".into() } else { format!("StorageClass {class:?}") };
                let name = pvc.claim_name;
                let message = format!("claim {name:?} has no volume ({class}): {why}; see that the class exists and can provision");
                (Reason::VolumePending, message)
            }
            (Some(why), ..) => (Reason::Unschedulable, format!("no node takes the pod: {why}")),
            (None, Some((reason, why)), _) if is_image_problem(reason) => {
                let image = job::image(self.run, self.turn.settings);
                (Reason::ImagePull, format!("image {image:?} cannot be had: {reason}: {why}; see that it exists and may be pulled"))
            }
            (None, Some((reason, why)), _) if reason != "ContainerCreating" && reason != "PodInitializing" => {
                (Reason::PodStarting, format!("the container waits: {reason}: {why}"))
            }
            _ if pod.running => (Reason::TargetNotReady, "the launcher waits for the target to be ready".into()),
            _ => (Reason::PodStarting, "the pod is being made".into()),
        }
    }

    /// Ends an attempt that came to nothing in time.
    fn give_up(&self, attempt: &Attempt, reason: Reason, message: &str) -> Plan {
        let mut plan = self.end_attempt(reason, message, None);
        plan.end = Some(End::PodAndJobNow { pod: self.observed.pod.name.clone(), job: attempt.job_name.clone() });
        plan
    }

    /// The Job has ended, and how its pod ended has not been seen yet.
    fn collect(&self, attempt: &Attempt) -> Plan {
        let failed = self.observed.job.failed.as_deref();
        if self.observed.pod.name.is_none() {
            return match failed {
                Some("DeadlineExceeded") => self.end_attempt(Reason::DeadlineExceeded, "the Job outran its deadline", None),
                _ => self.end_attempt(Reason::Disrupted, "the pod went before its result could be read", None),
            };
        }
        let mut plan = self.stand(Standing::new(Phase::Collecting, Reason::ReadingResult, "the Job has ended, its result is being read"));
        let since = attempt.running_time.unwrap_or(attempt.start_time);
        let limit = self.run.spec.policy.deadlines.run_seconds + self.run.spec.policy.deadlines.collect_seconds;
        if seconds_since(since, self.turn.now) > limit {
            return self.end_attempt(Reason::Disrupted, "the result could not be read in time", None);
        }
        plan.next_look = Some(SOON);
        plan
    }

    /// The launcher has ended: what did it say?
    fn conclude(&self) -> Plan {
        let Some(ended) = &self.observed.ended else {
            return Plan { again: true, status: self.before.clone(), ..Plan::default() };
        };
        match results::read(self.run, self.attempt().map_or(0, |it| it.number), ended) {
            Ok(envelope) => self.conclude_with(&envelope),
            Err(failure) => self.end_attempt(failure.reason, &failure.message, None),
        }
    }

    fn conclude_with(&self, envelope: &Envelope) -> Plan {
        let core = &envelope.core;
        let disrupted = self.observed.ended.as_ref().and_then(|it| it.disrupted.as_deref());
        match core.outcome {
            Outcome::Passed => {
                let message = "the figures count";
                let mut plan = self.finish(Phase::Succeeded, Outcome::Passed, Reason::RunSucceeded, message);
                status::take(&mut plan.status, self.run, envelope);
                plan
            }
            Outcome::Invalid => {
                let message = format!("{}: {}", core.reason, core.message);
                let mut plan = self.finish(Phase::Failed, Outcome::Invalid, Reason::MeasurementInvalid, &message);
                status::take(&mut plan.status, self.run, envelope);
                plan
            }
            Outcome::Cancelled => {
                let why = disrupted.unwrap_or("its pod was asked to end by somebody else");
                self.end_attempt(Reason::Disrupted, &format!("the run was interrupted: {why}"), Some(envelope))
            }
            Outcome::Error => self.end_attempt(results::reason_of(&core.reason), &core.message, Some(envelope)),
        }
    }

    /// Ends the current attempt: another one, if the policy allows it, else the end of the run.
    fn end_attempt(&self, reason: Reason, message: &str, envelope: Option<&Envelope>) -> Plan {
        let retry = &self.run.spec.policy.retry;
        let allowed = reason.retry_cause().is_some_and(|cause: RetryCause| retry.on.contains(&cause));
        let suspended = Reason::Suspended.name();
        let tried = self.before.attempts.iter().filter(|it| it.reason != suspended).count();
        if allowed && tried <= retry.limit as usize {
            let message = format!("attempt ended with {}: {message}; it is tried again", reason.name());
            let mut plan = self.stand(Standing::new(Phase::Preparing, Reason::Retrying, message));
            end_last(&mut plan.status, reason, self.turn.now);
            plan.next_look = Some(SOON);
            return plan;
        }
        let mut plan = self.finish(Phase::Failed, Outcome::Error, reason, message);
        if let Some(envelope) = envelope {
            status::take(&mut plan.status, self.run, envelope);
        }
        plan
    }

    fn cancel(&self) -> Plan {
        let Some(attempt) = self.attempt() else { return self.cancelled(None) };
        if self.observed.job.presence != Presence::Ours {
            let seen = self.observed.ended.as_ref().and_then(|it| results::read(self.run, attempt.number, it).ok());
            return self.cancelled(seen.as_ref());
        }
        if let Some(ended) = &self.observed.ended {
            return match results::read(self.run, attempt.number, ended) {
                // It was quicker than the cancel: what it measured is whole.
                Ok(envelope) if envelope.core.outcome == Outcome::Passed => self.conclude_with(&envelope),
                Ok(envelope) => self.cancelled(Some(&envelope)),
                Err(_) => self.cancelled(None),
            };
        }
        if self.run.spec.cancel == Cancel::Immediate {
            let mut plan = self.cancelled(None);
            plan.end = Some(End::PodAndJobNow { pod: self.observed.pod.name.clone(), job: attempt.job_name.clone() });
            return plan;
        }
        let Some(pod) = &self.observed.pod.name else {
            // No pod yet, or gone unseen: the Job must not make another one.
            let mut plan = self.cancelled(None);
            plan.end = Some(End::Job(attempt.job_name.clone()));
            return plan;
        };
        let phase = self.before.phase.unwrap_or(Phase::Starting);
        let mut plan = self.stand(Standing::new(phase, Reason::Cancelling, "the launcher drains and reports"));
        plan.end = (!self.observed.pod.deleting).then(|| End::Pod(pod.clone()));
        plan.next_look = Some(SOON);
        plan
    }

    fn cancelled(&self, envelope: Option<&Envelope>) -> Plan {
        let figures = envelope.is_some_and(|it| it.core.summary.is_some());
        let message = if figures { "ended early; the figures are of what was sent until then" } else { "ended early, without figures" };
        let mut plan = self.finish(Phase::Cancelled, Outcome::Cancelled, Reason::Cancelled, message);
        if let Some(envelope) = envelope {
            status::take(&mut plan.status, self.run, envelope);
        }
        plan
    }

    /// A benchmark cannot pause: what runs loses its attempt.
    fn suspend(&self) -> Plan {
        let mut plan = self.stand(Standing::new(Phase::Suspended, Reason::Suspended, "spec.suspend is true"));
        if let Some(attempt) = self.attempt() {
            plan.end = (self.observed.job.presence == Presence::Ours).then(|| End::Job(attempt.job_name.clone()));
            end_last(&mut plan.status, Reason::Suspended, self.turn.now);
        }
        plan
    }

    fn stand(&self, standing: Standing) -> Plan {
        status::plan(self.run, &self.before, standing, self.turn.now)
    }

    fn finish(&self, phase: Phase, outcome: Outcome, reason: Reason, message: &str) -> Plan {
        let mut plan = self.stand(Standing { outcome: Some(outcome), ..Standing::new(phase, reason, message) });
        plan.status.completion_time = Some(self.turn.now);
        if self.attempt().is_some() {
            end_last(&mut plan.status, reason, self.turn.now);
        }
        plan
    }
}

/// Adds an attempt; what does not fit goes, the suspended ones first, because they count against no limit.
fn remember(attempts: &mut Vec<Attempt>, attempt: Attempt) {
    attempts.push(attempt);
    while attempts.len() > MAX_ATTEMPTS {
        let suspended = Reason::Suspended.name();
        let first = attempts.iter().position(|it| it.reason == suspended).unwrap_or(0);
        attempts.remove(first);
    }
}

fn end_last(status: &mut BenchmarkRunStatus, reason: Reason, now: Timestamp) {
    if let Some(last) = status.attempts.last_mut() {
        last.end_time = Some(now);
        last.reason = reason.name();
    }
}

fn is_image_problem(reason: &str) -> bool {
    reason.starts_with("ErrImage") || reason.starts_with("ImagePull") || reason == "InvalidImageName"
}

/// Whole seconds since a time; 0 when the clock went back.
fn seconds_since(then: Timestamp, now: Timestamp) -> u32 {
    u32::try_from(now.duration_since(then).as_secs()).unwrap_or(0)
}

/// Until a deadline has passed, at least [`SOON`] and at most [`OFTEN`].
fn until(then: Timestamp, seconds: u32, now: Timestamp) -> Duration {
    let left = u64::from(seconds.saturating_sub(seconds_since(then, now))) + 1;
    Duration::from_secs(left).clamp(SOON, OFTEN)
}
