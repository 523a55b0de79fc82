//! State that the workers share: the plan, which never changes, and a few counters.

use std::{
    future::pending,
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use crds::units::RequestRate;
use tokio::sync::watch;
use tracing::warn;
use workload_profiles::workload::{MAX_REQUESTS, StopRule, StopScope};

use super::{
    concurrency_limit::ConcurrencyLimit,
    measured_rate::{Drawn, Earlier, StageCounts},
    plan::{LoadPlan, PlannedLoad, PlannedStage, Slots},
    progress::Progress,
    start_rate::StartRate,
    stop_rules::StopRules,
    target_health::TargetHealth,
    timeline::nanos,
    trials::{DrawnTrial, RunningTrials, TrialStage, Trials},
};
use crate::{
    client::ClientGroup,
    run_id::RunId,
    stop::{Stop, StopReason, StopState},
};
use clock::Clock;
use measurement::{
    load_result::{NotMeasured, RuleEnd, StageResult},
    phase::{IssuedPhase, PhaseEnd},
    record::RequestRecord,
    window::StageWindow,
};

/// Time between the moment when all workers are ready and time zero of the stage. It ensures that every worker learns time zero in advance.
const LEAD: Duration = Duration::from_millis(2);

pub(super) struct Shared {
    pub(super) plan: LoadPlan,
    pub(super) clock: Clock,
    pub(super) workers: usize,
    pub(super) stop: Stop,
    pub(super) progress: Arc<Progress>,
    pub(super) target_health: TargetHealth,
    pub(super) clients: Arc<ClientGroup>,
    pub(super) run_id: RunId,
    pub(super) trials: Option<RunningTrials>,
    stages: Vec<SharedStage>,
    arrivals: watch::Sender<u64>,
}

struct SharedStage {
    start: OnceLock<Duration>,
    /// Counts that determine the rates of later stages; `None` if no later stage needs them.
    counts: Option<StageCounts>,
    /// The drawn request times, if earlier stages determine the rate of this stage.
    drawn: OnceLock<Result<Drawn, NotMeasured>>,
    claims: Claims,
    start_rate: StartRate,
    stop_rules: StopRules,
    concurrency_limit: ConcurrencyLimit,
    /// Number of queries issued so far, if the stage is a phase. `end`: why no more are issued.
    issued: AtomicU64,
    end: OnceLock<PhaseEnd>,
    /// Whether a stop or a stop rule ended the stage on any worker.
    is_cut: AtomicBool,
    /// When the last worker ended the stage, in nanoseconds on the run's clock.
    ended: AtomicU64,
}

impl Shared {
    pub(super) fn new(plan: LoadPlan, clock: Clock, workers: usize, stop: Stop, progress: Arc<Progress>) -> Shared {
        let stages = plan.stages.iter().enumerate().map(|(index, stage)| SharedStage {
            start: OnceLock::new(),
            counts: plan.gives_rates(index).then(StageCounts::default),
            drawn: OnceLock::new(),
            // The stop rules do not apply to a phase, which has its own rules.
            stop_rules: StopRules::new(if stage.phase.is_none() { &plan.stop_rules } else { &[] }),
            claims: match stage.load {
                PlannedLoad::Open(_) | PlannedLoad::Measured(_) | PlannedLoad::Stream(_) => Claims::default(),
                // The slots of a trial take numbers until the trial ends.
                PlannedLoad::Trial(_) => Claims { next: AtomicU64::new(0), count: MAX_REQUESTS, tail: 0 },
                PlannedLoad::Closed(Slots { concurrency, count, .. }) => {
                    Claims { next: AtomicU64::new(0), count: count.unwrap_or(MAX_REQUESTS), tail: concurrency }
                }
            },
            start_rate: match stage.load {
                PlannedLoad::Closed(Slots { start_rate, .. }) => StartRate::new(start_rate),
                PlannedLoad::Open(_) | PlannedLoad::Measured(_) | PlannedLoad::Stream(_) | PlannedLoad::Trial(_) => {
                    StartRate::default()
                }
            },
            concurrency_limit: ConcurrencyLimit::new(stage.max_concurrency),
            issued: AtomicU64::new(0),
            end: OnceLock::new(),
            is_cut: AtomicBool::new(false),
            ended: AtomicU64::new(0),
        });
        Shared {
            stages: stages.collect(),
            plan,
            clock,
            workers,
            stop,
            progress,
            target_health: TargetHealth::default(),
            clients: Arc::default(),
            run_id: RunId::random(),
            trials: None,
            arrivals: watch::Sender::new(0),
        }
    }

    pub(super) fn with_trials(self, decider: Option<Arc<dyn Trials>>) -> Shared {
        let stages = self.stages.len();
        Shared { trials: decider.map(|it| RunningTrials::new(it, stages)), ..self }
    }

    /// Waits until the server has no work left of the earlier trials, and returns the trial of a stage as [`trial`](Self::trial) does.
    pub(super) async fn settled_trial(&self, stage: usize) -> Option<&DrawnTrial> {
        self.trials.as_ref()?.settle(stage, &self.stop).await;
        self.trial(stage)
    }

    /// Returns the trial of a stage; `None` if the load ends before the stage, or if the stage is no trial. The first worker that calls this draws
    /// the trial. Call it when all workers have ended the earlier stages.
    fn trial(&self, stage: usize) -> Option<&DrawnTrial> {
        let PlannedLoad::Trial(seed) = &self.plan.stages[stage].load else { return None };
        if self.stop.state() != StopState::Run {
            return None;
        }
        let draw = |trial: TrialStage| DrawnTrial::new(&trial, *seed);
        self.trials.as_ref()?.begin(stage, self.clock.now(), draw)
    }

    /// The requests of a closed-loop stage that no worker has taken yet.
    pub(super) fn claims(&self, stage: usize) -> &Claims {
        &self.stages[stage].claims
    }

    /// Returns the drawn request times of a stage whose rate earlier stages determine; `None` for any other stage. The first worker that
    /// calls this draws the times, and the other workers wait for them. Call it after all workers have ended the earlier stages.
    pub(super) fn draw(&self, stage: usize) -> Option<&Result<Drawn, NotMeasured>> {
        let PlannedLoad::Measured(load) = &self.plan.stages[stage].load else { return None };
        let earlier = |index: u32| {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            Earlier {
                name: self.plan.stages.get(index).map_or("", |it| &it.name),
                run: self.stages.get(index).and_then(|it| it.start.get().copied().zip(it.counts.as_ref())),
            }
        };
        let draw = || {
            let drawn = load.draw(earlier);
            if let Ok(Drawn { schedule, .. }) = &drawn {
                let unplanned = schedule.len().saturating_sub(load.count().unwrap_or_default());
                self.progress.planned.fetch_add(unplanned, Ordering::Relaxed);
                // With sessions the number stays undecided: each session has one request per turn, and the schedule does not know the
                // number of turns.
                if load.count().is_none() && self.plan.sessions.is_none() {
                    self.progress.undecided_stages.fetch_sub(1, Ordering::Relaxed);
                }
            }
            drawn
        };
        Some(self.stages[stage].drawn.get_or_init(draw))
    }

    /// Returns when a request is due, relative to the start of its stage; `None` if that depends on answers, or is not known yet.
    pub(super) fn due(&self, stage: usize, number: u64) -> Option<Duration> {
        match &self.plan.stages[stage].load {
            PlannedLoad::Open(schedule) => schedule.get(number),
            PlannedLoad::Measured(_) => self.drawn(stage)?.schedule.get(number),
            PlannedLoad::Trial(_) => match &self.drawn_trial(stage)?.load {
                PlannedLoad::Open(schedule) => schedule.get(number),
                _ => None,
            },
            PlannedLoad::Closed(_) | PlannedLoad::Stream(_) => None,
        }
    }

    /// Returns the rate that earlier stages determined for a stage that has begun.
    pub(super) fn measured_rate(&self, stage: usize) -> Option<RequestRate> {
        self.drawn(stage).map(|it| it.rate)
    }

    /// Returns the schedule that was drawn when a stage began.
    fn drawn(&self, stage: usize) -> Option<&Drawn> {
        self.stages[stage].drawn.get()?.as_ref().ok()
    }

    /// Returns the trial of a stage; `None` if it has not begun.
    fn drawn_trial(&self, stage: usize) -> Option<&DrawnTrial> {
        self.trials.as_ref()?.drawn(stage)
    }

    /// Returns the window, which determines the requests that the stage's figures include.
    pub(super) fn window(&self, stage: usize) -> StageWindow {
        let drawn = self.drawn(stage).map(|it| it.window);
        drawn.or_else(|| Some(self.drawn_trial(stage)?.window)).unwrap_or(self.plan.stages[stage].window)
    }

    /// Returns when the requests of a stage that began at `start` are aborted; `None` if the stage waits for all of them.
    pub(super) fn limit(&self, stage: usize, start: Duration) -> Option<Duration> {
        let over = match self.ended_early(stage) {
            Some(at) => at,
            None => start + self.window(stage).over()?,
        };
        Some(over + self.plan.stages[stage].grace?)
    }

    /// Counts an ended request for the rates of later stages, and for the stop rules.
    pub(super) fn count_ended(&self, stage: usize, record: &RequestRecord) {
        let shared = &self.stages[stage];
        shared.counts.iter().for_each(|it| it.count(record));
        self.trials.iter().for_each(|it| it.note_ended(record));
        let Some(RuleEnd { rule, .. }) = shared.stop_rules.count(record) else { return };
        let Some(StopRule { name, scope, .. }) = self.plan.stop_rules.get(rule as usize) else { return };
        warn!(rule = name, stage = self.plan.stages[stage].name, scope = ?scope, "a stop rule ended the stage");
        match scope {
            StopScope::Stage => {}
            StopScope::Load => self.stop.drain(StopReason::StopRule),
        }
    }

    /// Returns the time when a stop rule, or the evaluation of a trial, ended a stage; `None` if neither ended it.
    pub(super) fn ended_early(&self, stage: usize) -> Option<Duration> {
        let by_rule = self.stages[stage].stop_rules.end().map(|it| it.at);
        by_rule.or_else(|| self.trials.as_ref()?.end(stage))
    }

    /// Waits until a stop rule, or the evaluation of a trial, ends a stage.
    pub(super) async fn is_ended_early(&self, stage: usize) {
        let by_look = async {
            match &self.trials {
                Some(trials) => trials.ended(stage).await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.stages[stage].stop_rules.ended() => {}
            () = by_look => {}
        }
    }

    /// Whether a stage sends no more requests: the load is stopped, or the stage ended early.
    pub(super) fn is_stopped(&self, stage: usize) -> bool {
        self.stop.state() != StopState::Run || self.ended_early(stage).is_some()
    }

    /// Waits until the load is stopped, or a stop rule ends the stage.
    pub(super) async fn stopped(&self, stage: usize) {
        let mut stop = self.stop.watch();
        tokio::select! {
            biased;
            _ = stop.wait_for(|it| *it != StopState::Run) => {}
            () = self.is_ended_early(stage) => {}
        }
    }

    /// Records the number of requests in flight, all of which belong to this stage.
    pub(super) fn sample_under_way(&self, stage: usize) {
        self.stages[stage].counts.iter().for_each(|it| it.sample(self.clock.now(), self.progress.under_way()));
    }

    /// Returns, for each stage, its measured rate and the stop rule that ended it.
    pub(super) fn stage_results(&self) -> Vec<StageResult> {
        let of_stage = |stage: &SharedStage| StageResult {
            ended_by: stage.stop_rules.end(),
            measured_rate: stage.drawn.get().map(|it| it.as_ref().map(|it| it.rate).map_err(Clone::clone)),
        };
        self.stages.iter().map(of_stage).collect()
    }

    /// Returns the limit on the rate at which a closed-loop stage starts requests.
    pub(super) fn start_rate(&self, stage: usize) -> &StartRate {
        &self.stages[stage].start_rate
    }

    /// Returns the maximum number of requests in flight in a stage.
    pub(super) fn most_under_way(&self, stage: usize) -> usize {
        let stage = &self.plan.stages[stage];
        let requests = usize::try_from(stage.load.count()).unwrap_or(usize::MAX);
        stage.max_concurrency.map_or(requests, |it| requests.min(it as usize))
    }

    pub(super) fn concurrency_limit(&self, stage: usize) -> &ConcurrencyLimit {
        &self.stages[stage].concurrency_limit
    }

    /// Counts a query of a phase. Returns how many were issued so far.
    pub(super) fn count_query(&self, stage: usize) -> u64 {
        self.stages[stage].issued.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Ends a phase. Only the first reason is kept.
    pub(super) fn end_phase(&self, stage: usize, end: PhaseEnd) {
        let _ = self.stages[stage].end.set(end);
    }

    /// Records when a worker ended a stage. `is_cut` states whether a stop or a stop rule caused it.
    pub(super) fn ended(&self, stage: usize, at: Duration, is_cut: bool) {
        let stage = &self.stages[stage];
        stage.ended.fetch_max(nanos(at), Ordering::Relaxed);
        stage.is_cut.fetch_or(is_cut, Ordering::Relaxed);
    }

    /// Returns when the last worker ended a stage; `None` if the stage was cut on no worker. Workers on which it was not cut might have had no work
    /// left, or none at all. Call it after all workers have ended the stage.
    pub(super) fn cut_at(&self, stage: usize) -> Option<Duration> {
        let stage = &self.stages[stage];
        let is_cut = stage.is_cut.load(Ordering::Relaxed);
        is_cut.then(|| Duration::from_nanos(stage.ended.load(Ordering::Relaxed)))
    }

    /// Records the end of a phase that no other reason has ended: all its queries were issued. Called after all workers have ended the
    /// stage.
    pub(super) fn close_phase(&self, stage: usize) {
        if let Some(end) = self.plan.stages[stage].phase.as_ref().and_then(|it| it.at_the_end()) {
            self.end_phase(stage, end);
        }
    }

    /// Returns why a phase issues no more queries; `None` while it still issues them.
    pub(super) fn phase_end(&self, stage: usize) -> Option<PhaseEnd> {
        self.stages[stage].end.get().copied()
    }

    /// Returns the result of each phase, with one entry per stage; `None` for a stage that is not a phase.
    pub(super) fn issued_phases(&self) -> Vec<Option<IssuedPhase>> {
        let of_stage = |(index, stage): (usize, &PlannedStage)| {
            stage.phase.as_ref()?;
            Some(IssuedPhase { began: self.began(index), end: self.phase_end(index) })
        };
        self.plan.stages.iter().enumerate().map(of_stage).collect()
    }

    pub(super) fn began(&self, stage: usize) -> Option<Duration> {
        self.stages[stage].start.get().copied()
    }

    /// Waits until every worker has called this function `times` times.
    pub(super) async fn wait_for_workers(&self, times: u64) {
        self.arrivals.send_modify(|it| *it = it.saturating_add(1));
        let all = times * self.workers as u64;
        // The wait cannot fail, because `self` owns the sender.
        let _ = self.arrivals.subscribe().wait_for(|it| *it >= all).await;
    }

    /// Called when a worker was lost. Releases and stops the workers that wait for it. The user sees the error of the lost worker.
    pub(super) fn give_up(&self) {
        self.stop.abort(StopReason::Signal);
        self.arrivals.send_replace(u64::MAX);
    }

    /// Returns time zero of a stage, which is the same for all workers and not before `earliest`. Call it once all workers are ready.
    pub(super) fn start(&self, stage: usize, earliest: Duration) -> Duration {
        *self.stages[stage].start.get_or_init(|| earliest.max(self.clock.now() + LEAD))
    }
}

/// Hands out the request numbers of a closed-loop stage.
#[derive(Debug, Default)]
pub(super) struct Claims {
    next: AtomicU64,
    count: u64,
    /// How many of the last numbers are taken only when a slot is free. If a worker took them in advance while its slots are busy, they would wait
    /// although slots of other workers are idle.
    tail: u64,
}

impl Claims {
    /// Takes the next number; `None` if all are taken.
    pub(super) fn claim(&self) -> Option<u64> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.count).then_some(number)
    }

    /// Whether a number can be taken before a slot is free for it.
    pub(super) fn may_claim_ahead(&self) -> bool {
        self.next.load(Ordering::Relaxed) + self.tail < self.count
    }

    /// Whether no number remains.
    pub(super) fn are_all_taken(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.count
    }

    /// Takes all remaining numbers.
    pub(super) fn take_rest(&self) -> Range<u64> {
        self.next.swap(self.count, Ordering::Relaxed)..self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_taken_once_and_the_rest_can_be_counted() {
        let claims = Claims { next: AtomicU64::new(0), count: 5, tail: 2 };
        assert_eq!([claims.claim(), claims.claim()], [Some(0), Some(1)]);
        assert!(claims.may_claim_ahead());
        assert_eq!(claims.claim(), Some(2));
        assert!(!claims.may_claim_ahead());
        assert!(!claims.are_all_taken());
        assert_eq!(claims.take_rest(), 3..5);
        assert!(claims.are_all_taken());
        assert_eq!((claims.claim(), claims.take_rest().count()), (None, 0));
    }
}
