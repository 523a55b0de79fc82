//! [I/O] The state of a worker in one stage, and the common start of the stage on all workers.

use std::{sync::atomic::Ordering, time::Duration};

use super::{context::RequestContext, probes::Probing, timeline::nanos, worker::Worker};
use crate::vitals::worker::StageWatch;

/// The state of one worker in one stage.
pub(super) struct StageContext<'a> {
    worker: &'a Worker,
    /// The barriers that the worker has passed in this load.
    barriers: &'a mut u64,
    pub(super) stage: usize,
    earliest: Duration,
    pub(super) probing: Option<Probing>,
    /// Runs from the start of the stage.
    pub(super) watch: Option<StageWatch>,
}

impl<'a> StageContext<'a> {
    /// A stage that starts at `earliest` or later.
    pub(super) fn new(worker: &'a Worker, barriers: &'a mut u64, stage: usize, earliest: Duration) -> StageContext<'a> {
        StageContext { worker, barriers, stage, earliest, probing: None, watch: None }
    }

    /// Waits until all workers are ready, and returns time zero of the stage. The first worker sends the probes from
    /// then on.
    pub(super) async fn start(&mut self) -> Duration {
        let RequestContext { shared, .. } = &*self.worker.context;
        *self.barriers += 1;
        shared.wait_for_workers(*self.barriers).await;
        let start = shared.start(self.stage, self.earliest);
        if self.worker.index == 0 {
            let progress = &shared.progress;
            progress.stage.store(self.stage as u64, Ordering::Relaxed);
            progress.began.store(nanos(start), Ordering::Relaxed);
            progress.ended_before.store(progress.ended.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        if let (0, Some(phase)) = (self.worker.index, &shared.plan.stages[self.stage].phase) {
            phase.begin(&shared.progress.phase);
        }
        self.watch = Some(StageWatch::open(start));
        self.worker.context.recorder().open(self.stage, start);
        if let (Some(sleeper), Some(probes)) = (&self.worker.probe_sleeper, shared.plan.probes.rate()) {
            self.probing = Some(Probing::start(&self.worker.context, sleeper, probes, self.stage, start));
        }
        start
    }
}
