//! What the workers share: the plan, which does not change, and a few counters.

use std::{
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::watch;
use workload_profiles::workload::MAX_REQUESTS;

use super::{
    Progress,
    concurrency_limit::ConcurrencyLimit,
    phases::IssuedPhase,
    plan::{LoadPlan, PlannedLoad, PlannedStage, Slots},
    start_rate::StartRate,
    target_health::TargetHealth,
};
use crate::{
    client::ClientGroup,
    run_id::RunId,
    stop::{Stop, StopReason},
};
use clock::Clock;
use loadgen::phase_end::PhaseEnd;

/// From the moment when all workers are ready to time zero of the stage, so that each of them knows that time before it
/// comes.
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
    stages: Vec<SharedStage>,
    arrivals: watch::Sender<u64>,
}

struct SharedStage {
    start: OnceLock<Duration>,
    claims: Claims,
    start_rate: StartRate,
    concurrency_limit: ConcurrencyLimit,
    /// For a LoadGen phase: the queries that were issued, and why no more are.
    issued: AtomicU64,
    end: OnceLock<PhaseEnd>,
}

impl Shared {
    pub(super) fn new(plan: LoadPlan, clock: Clock, workers: usize, stop: Stop, progress: Arc<Progress>) -> Shared {
        let stages = plan.stages.iter().map(|stage| SharedStage {
            start: OnceLock::new(),
            claims: match stage.load {
                PlannedLoad::Open(_) | PlannedLoad::Stream(_) => Claims::default(),
                PlannedLoad::Closed(Slots { concurrency, count, .. }) => {
                    Claims { next: AtomicU64::new(0), count: count.unwrap_or(MAX_REQUESTS), tail: concurrency }
                }
            },
            start_rate: match stage.load {
                PlannedLoad::Closed(Slots { start_rate, .. }) => StartRate::new(start_rate),
                PlannedLoad::Open(_) | PlannedLoad::Stream(_) => StartRate::default(),
            },
            concurrency_limit: ConcurrencyLimit::new(stage.max_concurrency),
            issued: AtomicU64::new(0),
            end: OnceLock::new(),
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
            arrivals: watch::Sender::new(0),
        }
    }

    /// The requests of a closed-loop stage that no worker has taken yet.
    pub(super) fn claims(&self, stage: usize) -> &Claims {
        &self.stages[stage].claims
    }

    /// When the slots of a closed-loop stage may start their requests.
    pub(super) fn start_rate(&self, stage: usize) -> &StartRate {
        &self.stages[stage].start_rate
    }

    /// The most requests of a stage that can be under way at once.
    pub(super) fn most_under_way(&self, stage: usize) -> usize {
        let stage = &self.plan.stages[stage];
        let requests = usize::try_from(stage.load.count()).unwrap_or(usize::MAX);
        stage.max_concurrency.map_or(requests, |it| requests.min(it as usize))
    }

    pub(super) fn concurrency_limit(&self, stage: usize) -> &ConcurrencyLimit {
        &self.stages[stage].concurrency_limit
    }

    /// Counts a query of a LoadGen phase, and returns how many were issued so far.
    pub(super) fn count_query(&self, stage: usize) -> u64 {
        self.stages[stage].issued.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Ends a LoadGen phase; the first reason is kept.
    pub(super) fn end_phase(&self, stage: usize, end: PhaseEnd) {
        let _ = self.stages[stage].end.set(end);
    }

    /// Called when all workers have ended a stage: a LoadGen phase that nothing else ended has issued all its queries.
    pub(super) fn close_phase(&self, stage: usize) {
        if let Some(end) = self.plan.stages[stage].phase.as_ref().and_then(|it| it.at_the_end()) {
            self.end_phase(stage, end);
        }
    }

    /// Why a LoadGen phase issues no more queries; `None` while it issues them.
    pub(super) fn phase_end(&self, stage: usize) -> Option<PhaseEnd> {
        self.stages[stage].end.get().copied()
    }

    /// The result of each LoadGen phase, one entry for each stage; `None` for a stage of another load.
    pub(super) fn issued_phases(&self) -> Vec<Option<IssuedPhase>> {
        let of_stage = |(index, stage): (usize, &PlannedStage)| {
            let planned = Arc::clone(stage.phase.as_ref()?);
            Some(IssuedPhase { planned, began: self.began(index), end: self.phase_end(index) })
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
        // The sender lives as long as `self`.
        let _ = self.arrivals.subscribe().wait_for(|it| *it >= all).await;
    }

    /// Called when a worker was lost: releases the workers that wait for it, and stops them. The error of the lost
    /// worker is the reason that the user reads.
    pub(super) fn give_up(&self) {
        self.stop.abort(StopReason::Signal);
        self.arrivals.send_replace(u64::MAX);
    }

    /// Time zero of a stage, the same for all workers, and not before `earliest`. Call it when all workers are ready.
    pub(super) fn start(&self, stage: usize, earliest: Duration) -> Duration {
        *self.stages[stage].start.get_or_init(|| earliest.max(self.clock.now() + LEAD))
    }
}

/// The request numbers of a closed-loop stage, taken one by one.
#[derive(Debug, Default)]
pub(super) struct Claims {
    next: AtomicU64,
    count: u64,
    /// This many numbers at the end are taken only when a slot is free. If a worker with busy slots took them ahead,
    /// they would wait while slots of other workers are idle.
    tail: u64,
}

impl Claims {
    /// The next number; `None` when all are taken.
    pub(super) fn claim(&self) -> Option<u64> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.count).then_some(number)
    }

    /// Whether a number may be taken before a slot is free for it.
    pub(super) fn may_claim_ahead(&self) -> bool {
        self.next.load(Ordering::Relaxed) + self.tail < self.count
    }

    /// Takes all numbers that are left.
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
        assert_eq!(claims.take_rest(), 3..5);
        assert_eq!((claims.claim(), claims.take_rest().count()), (None, 0));
    }
}
