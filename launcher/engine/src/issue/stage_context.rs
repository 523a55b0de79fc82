//! [I/O] The state of a worker in one stage. It starts the stage at the same time on all workers.

use std::{sync::atomic::Ordering, time::Duration};

use super::{
    context::RequestContext, looks::Looks, probes::Probing, timeline::nanos, under_way_samples::UnderWaySamples,
    worker::Worker,
};
use crate::vitals::worker::StageWatch;

/// The state of one worker in one stage.
pub(super) struct StageContext<'a> {
    worker: &'a Worker,
    /// Number of barriers that the worker has passed in this load.
    barriers: &'a mut u64,
    pub(super) stage: usize,
    earliest: Duration,
    pub(super) probing: Option<Probing>,
    /// Samples the number of requests in flight; `None` if no later stage needs it.
    pub(super) samples: Option<UnderWaySamples>,
    /// Evaluates the stage's trial; `None` if another worker evaluates it, or if the stage is not a trial.
    pub(super) looks: Option<Looks>,
    /// Measures CPU time and receive delays from the start of the stage.
    pub(super) watch: Option<StageWatch>,
}

impl<'a> StageContext<'a> {
    /// Creates the state for a stage that starts at `earliest` or later.
    pub(super) fn new(worker: &'a Worker, barriers: &'a mut u64, stage: usize, earliest: Duration) -> StageContext<'a> {
        StageContext { worker, barriers, stage, earliest, probing: None, samples: None, looks: None, watch: None }
    }

    /// Waits until all workers are ready. Returns time zero of the stage, at which the first worker also starts the probes.
    pub(super) async fn start(&mut self) -> Duration {
        let RequestContext { shared, .. } = &*self.worker.context;
        *self.barriers += 1;
        shared.wait_for_workers(*self.barriers).await;
        let start = shared.start(self.stage, self.earliest);
        if self.worker.index == 0 {
            let progress = &shared.progress;
            let rate = shared.measured_rate(self.stage).map_or(0, |it| it.per_second().to_bits());
            progress.measured_rate.store(rate, Ordering::Relaxed);
            progress.began.store(nanos(start), Ordering::Relaxed);
            progress.ended_before.store(progress.ended.load(Ordering::Relaxed), Ordering::Relaxed);
            // Stored last, so that a reader of the new stage index also sees the start time of that stage.
            progress.stage.store(self.stage as u64, Ordering::Release);
            if shared.plan.gives_drain_rates(self.stage) {
                self.samples = Some(UnderWaySamples::start(shared, self.stage, start));
            }
            self.looks = shared.trials.as_ref().map(|_| Looks::start(shared, self.stage, start));
        }
        self.watch = Some(StageWatch::open(start));
        self.worker.context.recorder().open(self.stage, shared.window(self.stage), start);
        if let (Some(sleeper), Some(probes)) = (&self.worker.probe_sleeper, shared.plan.probes.rate()) {
            self.probing = Some(Probing::start(&self.worker.context, sleeper, probes, self.stage, start));
        }
        start
    }
}
