//! Decides what a reconciliation has to do: the entry point, and state and times that all decisions share.

use crds::{
    BenchmarkRun, BenchmarkRunStatus, EffectiveSpec,
    status::{Attempt, Phase},
};

use super::{
    Observed, Plan, Presence, Turn,
    finished::{self, clean_up, conclude},
    status::{self, NextStatus},
};

/// Computes the plan of a reconciliation.
pub fn plan(run: &BenchmarkRun, observed: &Observed, turn: &Turn<'_>) -> Plan {
    let mut plan = decide(run, observed, turn);
    if run.status.as_ref() != Some(&plan.status) {
        status::locate(&mut plan.status, &observed.pod);
    }
    status::limit_size(&mut plan.status);
    plan
}

fn decide(run: &BenchmarkRun, observed: &Observed, turn: &Turn<'_>) -> Plan {
    let mut before = run.status.clone().unwrap_or_default();
    if run.is_finished() {
        return finished(run, before, observed, turn);
    }
    identify(&mut before, observed);
    let effective = given_spec(&before, observed.config_map).cloned();
    let uid = run.metadata.uid.as_deref().unwrap_or_default();
    let effective = effective.unwrap_or_else(|| EffectiveSpec::new(&run.spec, uid, turn.settings));
    let decision = Decision { run, observed, turn, before, effective };
    if let Some(mark) = finished::restored(run) {
        return decision.restored(&mark);
    }
    if let Some(server) = &decision.before.server
        && let Some(held) = &server.held_end
    {
        return decision.end_held(server, held);
    }
    decision.with_chart_values(decision.with_server(decision.decide()))
}

/// Records the UIDs of the attempt's ConfigMap, Job and pod in the status when the operator first sees them. From then on, objects with other UIDs
/// are not trusted.
fn identify(status: &mut BenchmarkRunStatus, observed: &Observed) {
    if let Some(current) = status.attempts.last_mut().filter(|it| it.end_time.is_none()) {
        current.config_map_uid = current.config_map_uid.take().or_else(|| observed.config_map_uid.clone());
        current.job_uid = current.job_uid.take().or_else(|| observed.job.uid.clone());
        current.pod_uid = current.pod_uid.take().or_else(|| observed.pod.uid.clone());
    }
}

/// Whether the plan would begin an attempt if the run did not have to wait for its target or for a slot in its namespace.
pub fn would_begin(run: &BenchmarkRun, observed: &Observed) -> bool {
    let stopped = run.spec.suspend || run.spec.cancel.is_some() || run.metadata.deletion_timestamp.is_some();
    let status = run.status.as_ref();
    let has_attempt = status.is_some_and(|it| current_attempt(it).is_some());
    let has_left = status.is_some_and(|it| !it.attempts.is_empty()) && observed.is_attempt_left();
    let is_read = observed.unread.is_empty() && matches!(observed.input, Some(Ok(_)));
    !run.is_finished() && !stopped && !has_attempt && !has_left && is_read
}

/// The last attempt, unless it has ended.
pub fn current_attempt(status: &BenchmarkRunStatus) -> Option<&Attempt> {
    status.attempts.last().filter(|it| it.end_time.is_none())
}

/// The effective spec that the current attempt uses. `None` before its ConfigMap or its Job exists. Afterwards the attempt keeps these values, even
/// if a newer operator has other defaults.
pub fn given_spec(status: &BenchmarkRunStatus, config_map: Presence) -> Option<&EffectiveSpec> {
    let is_given = status.phase != Some(Phase::Preparing) || config_map == Presence::Ours;
    status.effective_spec.as_deref().filter(|_| is_given && current_attempt(status).is_some())
}

/// The plan for a finished run. Its status stays, the run gets its mark, and the run or its Jobs are deleted after their retention time. A later
/// change of the spec has no effect, but `observedGeneration` follows it, because GitOps tools wait for that.
fn finished(run: &BenchmarkRun, mut status: BenchmarkRunStatus, observed: &Observed, turn: &Turn<'_>) -> Plan {
    let generation = run.metadata.generation.unwrap_or_default();
    if status.observed_generation != generation {
        status.observed_generation = generation;
        status.conditions.iter_mut().for_each(|it| it.observed_generation = generation);
    }
    let mut plan = Plan { status, ..Plan::default() };
    let look = conclude(run, &mut plan, observed, turn.settings.network_policy.is_some(), turn.now);
    clean_up(run, &mut plan, observed, turn.now);
    plan.next_look = look.into_iter().chain(plan.next_look).min();
    plan
}

/// A run, the observations about it, and its status before this reconciliation.
pub(super) struct Decision<'a> {
    pub(super) run: &'a BenchmarkRun,
    pub(super) observed: &'a Observed,
    pub(super) turn: &'a Turn<'a>,
    pub(super) before: BenchmarkRunStatus,
    /// The spec with its defaults filled in.
    pub(super) effective: EffectiveSpec,
}

impl Decision<'_> {
    /// Decides what to do, apart from the removal of the server.
    fn decide(&self) -> Plan {
        if self.run.spec.cancel.is_some() {
            return self.cancel();
        }
        if self.run.spec.suspend {
            return self.suspend();
        }
        match self.attempt().cloned() {
            None => self.begin(),
            Some(attempt) => self.follow(&attempt),
        }
    }

    pub(super) fn attempt(&self) -> Option<&Attempt> {
        current_attempt(&self.before)
    }

    /// The message of the condition Ready, as it was before this reconciliation.
    pub(super) fn last_message(&self) -> &str {
        let ready = self.before.conditions.iter().find(|it| it.kind == "Ready");
        ready.map_or("", |it| it.message.as_str())
    }

    pub(super) fn status_plan(&self, standing: NextStatus) -> Plan {
        status::plan(self.run, &self.before, standing, self.turn.now)
    }
}
