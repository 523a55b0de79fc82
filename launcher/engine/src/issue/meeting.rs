//! [I/O] How the lanes begin a stage together.

use std::{sync::atomic::Ordering, time::Duration};

use super::{context::Core, lane::Lane, probes::Probing, timeline::nanos};
use crate::vitals::lane::Window;

/// How the lanes begin a stage together.
pub(super) struct Meeting<'a> {
    pub(super) lane: &'a Lane,
    pub(super) meetings: &'a mut u64,
    pub(super) stage: usize,
    pub(super) earliest: Duration,
    pub(super) probing: Option<Probing>,
    /// Open from the start of the stage on.
    pub(super) window: Option<Window>,
}

impl Meeting<'_> {
    /// To be called when the lane is ready; returns time zero of the stage. The first lane sends the probes from then on.
    pub(super) async fn start(&mut self) -> Duration {
        let Core { shared, .. } = &*self.lane.core;
        *self.meetings += 1;
        shared.meet(*self.meetings).await;
        let start = shared.start(self.stage, self.earliest);
        if self.lane.index == 0 {
            let progress = &shared.progress;
            progress.stage.store(self.stage as u64, Ordering::Relaxed);
            progress.began.store(nanos(start), Ordering::Relaxed);
            progress.ended_before.store(progress.ended.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        if let (0, Some(phase)) = (self.lane.index, &shared.plan.stages[self.stage].phase) {
            phase.begin(&shared.progress.phase);
        }
        self.window = Some(Window::open(start));
        self.lane.core.recorder().open(self.stage, start);
        if let (Some(sleeper), Some(probes)) = (&self.lane.probe_sleeper, shared.plan.probes.rate()) {
            self.probing = Some(Probing::start(&self.lane.core, sleeper, probes, self.stage, start));
        }
        start
    }
}
