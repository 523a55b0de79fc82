//! [I/O] A lane: one thread's part of the load, stage by stage.

use std::{
    iter::StepBy,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use tokio::task::JoinSet;

use super::{closed_loop, open_loop, plan::PlannedLoad, shared::Shared};
use crate::{
    client::{Client, Target},
    clock::{self, Sleeper},
    recorder::{Keep, Recorder},
    stop::StopState,
    vitals::lane::{LaneVitals, Window},
};

/// What the requests of a lane need.
pub(super) struct Core {
    pub(super) shared: Arc<Shared>,
    pub(super) client: Client,
    /// Locked for each request once, by one thread.
    recorder: Mutex<Recorder>,
}

impl Core {
    pub(super) fn recorder(&self) -> MutexGuard<'_, Recorder> {
        // A recorder that a panic left is still one whose counts hold.
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread's part of the load.
pub(super) struct Lane {
    pub(super) index: usize,
    pub(super) core: Arc<Core>,
    pub(super) sleeper: Sleeper,
}

/// What a lane came to.
pub(super) struct LaneResult {
    pub(super) recorder: Recorder,
    pub(super) unissued: u64,
    pub(super) cpu: Duration,
    pub(super) vitals: LaneVitals,
}

impl Lane {
    /// Needs the runtime on which it will run.
    pub(super) fn new(index: usize, shared: Arc<Shared>, target: Target, keep: Keep) -> Lane {
        let sleeper = shared.clock.sleeper();
        let client = Client::new(target, shared.clock)
            .with_connect_timeout(shared.plan.connect_timeout)
            .telling(Arc::clone(&shared.circuit.answering));
        let recorder = Mutex::new(shared.plan.recorder(keep));
        Lane { index, core: Arc::new(Core { shared, client, recorder }), sleeper }
    }

    /// Issues all stages and waits for the end of every request.
    pub(super) async fn run(self) -> LaneResult {
        let cpu = clock::thread_cpu();
        let shared = Arc::clone(&self.core.shared);
        let mut unissued = 0;
        let mut meetings = 0;
        let mut earliest = Duration::ZERO;
        let mut vitals = LaneVitals { coarse_timer: self.sleeper.is_coarse(), ..LaneVitals::default() };
        for (index, stage) in shared.plan.stages.iter().enumerate() {
            let mut meeting = Meeting::new(&shared, &mut meetings, index, earliest);
            let left = match &stage.load {
                PlannedLoad::Open(schedule) => open_loop::run(&self, &mut meeting, schedule).await,
                PlannedLoad::Closed { concurrency, .. } => closed_loop::run(&self, &mut meeting, *concurrency).await,
            };
            vitals.stages.push(meeting.window.take().map(|it| it.close(shared.clock.now())).unwrap_or_default());
            self.core.recorder().count_unissued(index, left);
            unissued += left;
            meetings += 1;
            shared.meet(meetings).await;
            // The pause that follows is no time of failures.
            shared.circuit.reset();
            earliest = shared.clock.now() + stage.pause_after;
        }
        let recorder = std::mem::take(&mut *self.core.recorder());
        LaneResult { recorder, unissued, cpu: clock::thread_cpu().saturating_sub(cpu), vitals }
    }

    /// The numbers of this lane's requests, or slots, of `count`: dealt in turn.
    pub(super) fn share(&self, count: u64) -> StepBy<Range<u64>> {
        (self.index as u64..count).step_by(self.core.shared.lanes)
    }

    /// Waits for a time, or for the load to be stopped.
    pub(super) async fn wait_until(&self, at: Duration) {
        let mut stop = self.core.shared.stop.watch();
        tokio::select! {
            () = self.sleeper.until(at) => {}
            _ = stop.wait_for(|it| *it != StopState::Run) => {}
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.core.shared.stop.state() != StopState::Run
    }

    /// Waits until all flights have ended, and ends them when the load is aborted.
    pub(super) async fn drain(&self, mut flights: JoinSet<()>) {
        let mut stop = self.core.shared.stop.watch();
        let aborted = stop.wait_for(|it| matches!(it, StopState::Abort(_)));
        tokio::pin!(aborted);
        loop {
            tokio::select! {
                joined = flights.join_next() => if joined.is_none() { return },
                _ = &mut aborted => break,
            }
        }
        flights.shutdown().await;
    }
}

/// How the lanes begin a stage together.
pub(super) struct Meeting<'a> {
    shared: &'a Shared,
    meetings: &'a mut u64,
    pub(super) stage: usize,
    earliest: Duration,
    /// Open from the start of the stage on.
    window: Option<Window>,
}

impl<'a> Meeting<'a> {
    fn new(shared: &'a Shared, meetings: &'a mut u64, stage: usize, earliest: Duration) -> Self {
        Meeting { shared, meetings, stage, earliest, window: None }
    }

    /// To be called when the lane is ready; returns time zero of the stage.
    pub(super) async fn start(&mut self) -> Duration {
        *self.meetings += 1;
        self.shared.meet(*self.meetings).await;
        self.shared.progress.stage.store(self.stage as u64, Ordering::Relaxed);
        let start = self.shared.start(self.stage, self.earliest);
        self.window = Some(Window::open(start));
        start
    }
}
