//! Which phase a run is in and which may follow.

use std::time::Duration;

use crds::{
    BenchmarkRun, BenchmarkRunStatus, Outcome,
    benchmark_run::Cancel,
    resolve::claim,
    status::{Attempt, MAX_ATTEMPTS, Phase, Resolved},
};
use jiff::Timestamp;

use super::{
    Child, End, LauncherInput, Observed, Plan, Presence, Refusal, Refused, Turn, config_map, job, meta, pvc,
    status::{self, Standing},
};
use crate::reason::Reason;

/// While something is under way that no watch tells of.
pub(super) const SOON: Duration = Duration::from_secs(2);
/// While an attempt starts or runs: a deadline may pass.
const OFTEN: Duration = Duration::from_secs(10);
/// While a ConfigMap has been missing for long.
const SELDOM: Duration = Duration::from_secs(60);
/// How long past the run's own deadline and grace the operator waits before it ends an attempt.
pub(super) const LEEWAY_SECONDS: u32 = 60;
/// What a young pod waits for passes by itself, as a rule: a claim that its first pod binds, a target that is asked for the
/// first time. To tell each would be a write for nothing.
const SETTLE_SECONDS: u32 = 5;

/// The longest wait of a finished run for its deletion, so that a clock that was set is noticed.
const LONGEST_LOOK_SECONDS: u64 = 86_400;

/// Decides what is to be done now.
pub fn plan(run: &BenchmarkRun, observed: &Observed, turn: &Turn<'_>) -> Plan {
    let mut plan = decide(run, observed, turn);
    status::fit(&mut plan.status);
    plan
}

fn decide(run: &BenchmarkRun, observed: &Observed, turn: &Turn<'_>) -> Plan {
    let mut before = run.status.clone().unwrap_or_default();
    if run.is_finished() {
        return finished(run, before, turn.now);
    }
    identify(&mut before, observed);
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

/// Keeps which Job and which pod carry the attempt, as soon as they are seen: from then on no other one is believed.
fn identify(status: &mut BenchmarkRunStatus, observed: &Observed) {
    if let Some(current) = status.attempts.last_mut().filter(|it| it.end_time.is_none()) {
        current.job_uid = current.job_uid.take().or_else(|| observed.job.uid.clone());
        current.pod_uid = current.pod_uid.take().or_else(|| observed.pod.uid.clone());
    }
}

/// The attempt that has not ended.
pub fn current_attempt(status: &BenchmarkRunStatus) -> Option<&Attempt> {
    status.attempts.last().filter(|it| it.end_time.is_none())
}

/// A run that has finished stays as it is, until its time is over. What may still change in its spec changes nothing of
/// it, and the status says that it has been seen: else a GitOps tool would wait for it for ever.
fn finished(run: &BenchmarkRun, mut status: BenchmarkRunStatus, now: Timestamp) -> Plan {
    let generation = run.metadata.generation.unwrap_or_default();
    if status.observed_generation != generation {
        status.observed_generation = generation;
        status.conditions.iter_mut().for_each(|it| it.observed_generation = generation);
    }
    let mut plan = Plan { status, ..Plan::default() };
    let (Some(ttl), Some(finished)) = (&run.spec.ttl_seconds_after_finished, plan.status.completion_time) else {
        return plan;
    };
    let succeeded = plan.status.phase == Some(Phase::Succeeded);
    let seconds = if succeeded { ttl.succeeded } else { ttl.failed };
    let left = i64::from(seconds) - now.duration_since(finished).as_secs();
    match u64::try_from(left) {
        Ok(left) if left > 0 => plan.next_look = Some(Duration::from_secs(left.min(LONGEST_LOOK_SECONDS))),
        _ => plan.delete_run = true,
    }
    plan
}

/// A run, all that was observed of it, and its status before this turn.
pub(super) struct Decision<'a> {
    pub(super) run: &'a BenchmarkRun,
    pub(super) observed: &'a Observed,
    pub(super) turn: &'a Turn<'a>,
    pub(super) before: BenchmarkRunStatus,
}

impl Decision<'_> {
    pub(super) fn attempt(&self) -> Option<&Attempt> {
        current_attempt(&self.before)
    }

    /// Starts another attempt, once nothing of the last one is left.
    fn begin(&self) -> Plan {
        if let Some(last) = self.before.attempts.last()
            && (self.observed.job.presence == Presence::Ours || self.observed.pod.name.is_some())
        {
            return self.wait_for_end_of(last);
        }
        let input = match &self.observed.input {
            Some(Ok(input)) => input,
            Some(Err(refusal)) => return self.refuse(refusal),
            None => return Plan { again: true, status: self.before.clone(), ..Plan::default() },
        };
        let number = input.run.run.attempt;
        let mut plan =
            self.stand(Standing::new(Phase::Preparing, Reason::Preparing, "makes ConfigMap, volume and Job"));
        plan.status.resolved = Some(self.resolved(input));
        remember(
            &mut plan.status.attempts,
            Attempt {
                number,
                job_name: meta::attempt_name(self.run, number),
                job_uid: None,
                pod_uid: None,
                start_time: self.turn.now,
                running_time: None,
                end_time: None,
                reason: String::new(),
            },
        );
        // The intent is in the status before the Job exists; a crash in between leaves nothing that is not accounted for.
        plan.again = true;
        plan
    }

    /// Two attempts at once would disturb each other, and a volume can be mounted by one node at a time.
    fn wait_for_end_of(&self, last: &Attempt) -> Plan {
        let (job, pod) = (&self.observed.job, &self.observed.pod);
        let limit = self.run.spec.policy.deadlines.prepare_seconds;
        if last.end_time.is_some_and(|it| seconds_since(it, self.turn.now) > limit) {
            let what = pod.name.as_ref().unwrap_or(&last.job_name);
            let message = format!(
                "{what} of the last attempt was not gone within {limit} seconds (policy.deadlines.prepareSeconds); see whether its node is lost"
            );
            return self.finish(Phase::Failed, Outcome::Error, Reason::PrepareTimeout, &message);
        }
        let message = format!("waits until {} is gone, before attempt {}", last.job_name, last.number + 1);
        let mut plan = self.stand(Standing::new(Phase::Preparing, Reason::Retrying, message));
        plan.end = match (&pod.name, job.presence) {
            (_, Presence::Ours) => (!job.deleting).then(|| End::Job(last.job_name.clone())),
            (Some(pod_name), _) => pod.deleting.is_none().then(|| End::Pod(pod_name.clone())),
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

    fn refuse(&self, refusal: &Refusal) -> Plan {
        let created = self.run.metadata.creation_timestamp.as_ref().map_or(self.turn.now, |it| it.0);
        let limit = self.run.spec.policy.deadlines.prepare_seconds;
        let age = seconds_since(created, self.turn.now);
        if refusal.reason != Reason::ProfileNotFound {
            return self.finish(Phase::Failed, Outcome::Error, refusal.reason, &refusal.message);
        }
        if self.attempt().is_none() && age < limit {
            // `kubectl apply -f folder/` may bring the ConfigMap a moment after the run.
            let message =
                format!("{}\nthe run waits for it {limit} seconds (policy.deadlines.prepareSeconds)", refusal.message);
            let mut plan = self.stand(Standing::new(Phase::Pending, Reason::ProfileNotFound, message));
            // Each look reads whole ConfigMaps: a run that has waited for long looks less often.
            let seldom = Duration::from_secs(u64::from(age / 10)).clamp(SOON, SELDOM);
            plan.next_look = Some(seldom.min(Duration::from_secs(u64::from(limit - age) + 1)));
            return plan;
        }
        let message = format!("{}\nthis run has ended: then create the run anew", refusal.message);
        self.finish(Phase::Failed, Outcome::Error, refusal.reason, &message)
    }

    /// Goes on with an attempt whose intent is in the status.
    fn follow(&self, attempt: &Attempt) -> Plan {
        let job = &self.observed.job;
        if let Some(reason) = Reason::named(&attempt.reason) {
            return self.end_given_up(attempt, reason);
        }
        match job.presence {
            Presence::Foreign => self.conflict(&attempt.job_name),
            Presence::Ours if job.deleting && self.observed.ended.is_none() => self.lose(attempt, None),
            Presence::Ours => self.watch(attempt),
            Presence::Absent if self.before.phase == Some(Phase::Preparing) => self.create(attempt),
            Presence::Absent if self.observed.ended.is_some() => self.conclude(),
            Presence::Absent => self.lose(attempt, None),
        }
    }

    fn conflict(&self, name: &str) -> Plan {
        let message =
            format!("an object of another owner has the name {name}; delete it, or give the run another name");
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
        if let Some(refused) = &self.observed.refused {
            return self.stand_refused(refused);
        }
        let limit = self.run.spec.policy.deadlines.prepare_seconds;
        if seconds_since(attempt.start_time, self.turn.now) > limit {
            let last = self.last_message();
            let message = format!(
                "ConfigMap, volume and Job were not made within {limit} seconds (policy.deadlines.prepareSeconds); the last was: {last}"
            );
            return self.end_attempt(Reason::PrepareTimeout, &message, None);
        }
        let mut plan = self.stand(Standing::new(Phase::Starting, Reason::PodStarting, self.starting()));
        plan.status.resolved = Some(self.resolved(input));
        plan.create = self.children(attempt, input);
        plan.next_look = Some(OFTEN);
        plan
    }

    /// Tells what the API server said. Whether it is asked again is the loop's.
    fn stand_refused(&self, refused: &Refused) -> Plan {
        if refused.for_good {
            return self.finish(Phase::Failed, Outcome::Error, Reason::InvalidSpec, &refused.message);
        }
        let mut plan = self.stand(Standing::new(Phase::Preparing, Reason::Preparing, &refused.message));
        if self.last_message() != status::cut_long(&refused.message) {
            plan.event = Some(status::warning(Reason::Preparing, &refused.message));
        }
        plan
    }

    /// What the status says now.
    pub(super) fn last_message(&self) -> &str {
        let ready = self.before.conditions.iter().find(|it| it.kind == "Ready");
        ready.map_or("", |it| it.message.as_str())
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
        if observed.ambiguous {
            let message = format!(
                "two pods of Job {} were created in the same second, and the figures of only one may count; see who else creates pods in this namespace: {}",
                attempt.job_name,
                observed.other_pods.join(", ")
            );
            return self.give_up(Reason::AmbiguousPod, &message);
        }
        if observed.ended.is_some() {
            return self.conclude();
        }
        if observed.job.failed.is_some() || observed.job.complete {
            return self.collect(attempt);
        }
        let now = self.turn.now;
        if let Some(since) = observed.pod.deleting.filter(|it| seconds_since(*it, now) > deadlines.collect_seconds) {
            let limit = deadlines.collect_seconds;
            let message = format!(
                "the pod should be gone since {since}, and is not {limit} seconds later (policy.deadlines.collectSeconds); see whether its node is lost"
            );
            return self.end_attempt(Reason::Disrupted, &message, None);
        }
        if let Some(running) = attempt.running_time {
            let limit = deadlines.run_seconds + self.run.spec.policy.grace_period_seconds + LEEWAY_SECONDS;
            if seconds_since(running, now) > limit {
                let message =
                    format!("the launcher did not end within {limit} seconds; raise policy.deadlines.runSeconds");
                return self.give_up(Reason::DeadlineExceeded, &message);
            }
            return self.running(attempt);
        }
        if observed.pod.ready {
            return self.running(attempt);
        }
        let (reason, message) = self.why_not_running();
        let passing = [Reason::Unschedulable, Reason::VolumePending, Reason::TargetNotReady].contains(&reason);
        if passing && seconds_since(attempt.start_time, now) < SETTLE_SECONDS {
            let mut plan = self.stand(Standing::new(Phase::Starting, Reason::PodStarting, self.starting()));
            plan.next_look = Some(SOON);
            return plan;
        }
        let since = observed.job.created.map_or(attempt.start_time, |it| it.max(attempt.start_time));
        if seconds_since(since, now) > deadlines.start_seconds {
            let limit = deadlines.start_seconds;
            let message = format!(
                "the launcher did not measure within {limit} seconds (policy.deadlines.startSeconds): {message}"
            );
            let reason = if reason == Reason::PodStarting || reason == Reason::TargetNotReady {
                Reason::StartTimeout
            } else {
                reason
            };
            return self.give_up(reason, &message);
        }
        let mut plan = self.stand(Standing::new(Phase::Starting, reason, message));
        plan.next_look = Some(until(since, deadlines.start_seconds, now));
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
        // Most claims wait for the first pod that mounts them, and so are not bound while there is no room for it.
        let about_volumes = pod.unschedulable.as_deref().is_some_and(is_about_volumes);
        let pending = claim(&self.run.spec).filter(|_| !self.observed.claim.bound && about_volumes);
        match (&pod.unschedulable, &pod.waiting, pending) {
            (Some(why), _, Some(pvc)) => {
                let class = &self.observed.claim.class;
                let class = if class.is_empty() {
                    "the default StorageClass".into()
                } else {
                    format!("StorageClass {class:?}")
                };
                let name = pvc.claim_name;
                let message = format!(
                    "claim {name:?} has no volume ({class}): {why}; see that the class exists and can provision"
                );
                (Reason::VolumePending, message)
            }
            (Some(why), ..) => (Reason::Unschedulable, format!("no node takes the pod: {why}")),
            (None, Some((reason, why)), _) if is_image_problem(reason) => {
                let image = job::image(self.run, self.turn.settings);
                (
                    Reason::ImagePull,
                    format!("image {image:?} cannot be had: {reason}: {why}; see that it exists and may be pulled"),
                )
            }
            (None, Some((reason, why)), _) if reason != "ContainerCreating" && reason != "PodInitializing" => {
                (Reason::PodStarting, format!("the container waits: {reason}: {why}"))
            }
            _ if pod.running => {
                let limit = self.run.spec.target.readiness.timeout_seconds;
                let message = format!(
                    "the launcher waits for the target to be ready, up to {limit} seconds (target.readiness.timeoutSeconds); its log tells what it meets"
                );
                (Reason::TargetNotReady, message)
            }
            _ => (Reason::PodStarting, self.starting()),
        }
    }

    /// One sentence for all that comes before the container runs: each step told by itself would be a write of its own.
    fn starting(&self) -> String {
        let mounts = self.mounts();
        format!(
            "the pod is being made, or starts on its node{mounts}; if this lasts, its events and the events of the Job tell why"
        )
    }

    /// What the pod cannot start without, and whose absence only its own events tell.
    fn mounts(&self) -> String {
        let target = &self.run.spec.target;
        let secret = target.auth.as_ref().map(|it| format!("Secret {:?}", it.secret_key_ref.name));
        let authorities = target.tls.as_ref().map(|it| format!("ConfigMap {:?}", it.ca_config_map_ref.name));
        let results = claim(&self.run.spec).map(|it| format!("claim {:?}", it.claim_name));
        let files = self.run.spec.profile.files.iter().filter_map(|it| match (&it.config_map_ref, &it.claim) {
            (Some(key), _) => Some(format!("ConfigMap {:?}", key.name)),
            (None, claim) => claim.as_ref().map(|it| format!("claim {:?}", it.claim_name)),
        });
        let all: Vec<_> = [secret, authorities, results].into_iter().flatten().chain(files).collect();
        if all.is_empty() {
            return String::new();
        }
        format!("; it mounts {}: see that they exist, have the keys, and are free", all.join(", "))
    }

    pub(super) fn stand(&self, standing: Standing) -> Plan {
        status::plan(self.run, &self.before, standing, self.turn.now)
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

/// Whether the scheduler's words are about the claim, its class or its volume.
fn is_about_volumes(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["volume", "storageclass"].iter().any(|it| message.contains(it))
}

fn is_image_problem(reason: &str) -> bool {
    reason.starts_with("ErrImage") || reason.starts_with("ImagePull") || reason == "InvalidImageName"
}

/// Whole seconds since a time; 0 when the clock went back.
pub(super) fn seconds_since(then: Timestamp, now: Timestamp) -> u32 {
    u32::try_from(now.duration_since(then).as_secs()).unwrap_or(0)
}

/// Until a deadline has passed, at least [`SOON`] and at most [`OFTEN`].
fn until(then: Timestamp, seconds: u32, now: Timestamp) -> Duration {
    let left = u64::from(seconds.saturating_sub(seconds_since(then, now))) + 1;
    Duration::from_secs(left).clamp(SOON, OFTEN)
}
