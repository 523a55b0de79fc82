//! [I/O] A lane: one thread's part of the load, stage by stage.

use std::{
    iter::StepBy,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use tokio::task::JoinSet;

use super::{
    closed_loop, flight::landed, open_loop, plan::PlannedLoad, probes::Probing, query_loop, shared::Shared,
    timeline::nanos,
};
use crate::{
    client::{Client, Target},
    record::RequestOutcome,
    recorder::{Keep, Recorder},
    stop::StopState,
    vitals::lane::{LaneVitals, Window},
};
use clock::Sleeper;
use loadgen::ending::Ending;

/// So long before a stage begins its connections and first requests are made, after the pause before it.
const WARMING: Duration = Duration::from_secs(1);

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
    /// Of the probes, which the first lane sends.
    probe_sleeper: Option<Arc<Sleeper>>,
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
        let probes = index == 0 && shared.plan.probes.rate().is_some();
        let probe_sleeper = probes.then(|| Arc::new(shared.clock.sleeper()));
        let client = Client::new(target, shared.clock)
            .with_connect_timeout(shared.plan.connect_timeout)
            .telling(Arc::clone(&shared.circuit.answering))
            .in_group(Arc::clone(&shared.clients))
            .starting_at(index);
        let recorder = Mutex::new(shared.plan.recorder(keep));
        Lane { index, core: Arc::new(Core { shared, client, recorder }), sleeper, probe_sleeper }
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
            // Connections that were made before a long pause would be closed after it.
            self.wait_until(earliest.saturating_sub(WARMING)).await;
            let never_begun = self.is_stopped();
            let mut meeting =
                Meeting { lane: &self, meetings: &mut meetings, stage: index, earliest, probing: None, window: None };
            let left = match &stage.load {
                PlannedLoad::Open(schedule) => open_loop::run(&self, &mut meeting, schedule).await,
                PlannedLoad::Closed(slots) => closed_loop::run(&self, &mut meeting, *slots).await,
                PlannedLoad::Stream(queries) => query_loop::run(&self, &mut meeting, queries).await,
            };
            vitals.stages.push(meeting.window.take().map(|it| it.close(shared.clock.now())).unwrap_or_default());
            if let Some(probing) = meeting.probing {
                probing.end().await;
            }
            if let (Left::Stopped { .. }, StopState::Drain(reason) | StopState::Abort(reason)) =
                (&left, shared.stop.state())
            {
                shared.end_phase(index, Ending::Stopped(reason));
            }
            unissued += self.count(index, left, never_begun);
            self.core.client.give_files_back();
            meetings += 1;
            shared.meet(meetings).await;
            shared.close_phase(index);
            // The pause that follows is no time of failures.
            shared.circuit.reset();
            shared.clients.begin_stage();
            earliest = shared.clock.now() + stage.pause_after;
            if self.index == 0 && !stage.pause_after.is_zero() {
                shared.progress.pause_until.store(nanos(earliest), Ordering::Relaxed);
            }
        }
        let recorder = std::mem::take(&mut *self.core.recorder());
        LaneResult { recorder, unissued, cpu: clock::thread_cpu().saturating_sub(cpu), vitals }
    }

    /// Counts what a stage did not send; returns how many of these were due when it was stopped. What would have been due
    /// later was never asked of anybody: it is in no figure.
    fn count(&self, stage: usize, left: Left, never_begun: bool) -> u64 {
        let shared = &self.core.shared;
        let due = |number| match &shared.plan.stages[stage].load {
            PlannedLoad::Open(schedule) => schedule.get(number),
            PlannedLoad::Closed(_) | PlannedLoad::Stream(_) => None,
        };
        let mut recorder = self.core.recorder();
        let (at, unsent) = match left {
            Left::Over(unsent) => {
                recorder.count_unissued(stage, unsent.numbers().map(|it| (it, due(it))), RequestOutcome::Incomplete);
                return 0;
            }
            Left::Stopped { at, unsent } => (at, unsent),
        };
        let passed = shared.began(stage).filter(|_| !never_begun).and_then(|it| at.checked_sub(it));
        let (mut were_due, mut later) = (0, unsent.is_empty());
        let unsent = unsent.numbers().map(|it| (it, due(it))).filter(|(_, due)| {
            let was_due = due.zip(passed).is_some_and(|(due, passed)| due <= passed);
            were_due += u64::from(was_due);
            later |= !was_due;
            was_due
        });
        recorder.count_unissued(stage, unsent, RequestOutcome::Cancelled);
        recorder.cut_short(stage, shared.clock.now(), later);
        were_due
    }

    /// The numbers of this lane's requests, or slots, of `count`: dealt in turn.
    pub(super) fn share(&self, count: u64) -> StepBy<Range<u64>> {
        (self.index as u64..count).step_by(self.core.shared.lanes)
    }

    /// Waits for a time, or for the load to be stopped.
    pub(super) async fn wait_until(&self, at: Duration) {
        self.unless_stopped(self.sleeper.until(at)).await;
    }

    /// Does something until it is done, or the load is stopped.
    pub(super) async fn unless_stopped(&self, work: impl Future<Output = ()>) {
        let mut stop = self.core.shared.stop.watch();
        tokio::select! {
            biased;
            _ = stop.wait_for(|it| *it != StopState::Run) => {}
            () = work => {}
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.core.shared.stop.state() != StopState::Run
    }
}

/// Requests of a stage that were never sent.
pub(super) enum Left {
    /// The load was stopped before these were sent; none where answers decide when more are due.
    Stopped {
        /// When nothing more was sent.
        at: Duration,
        unsent: Unsent,
    },
    /// The stage was over before these found a place.
    Over(Unsent),
}

/// The numbers of requests that were never sent.
#[derive(Default)]
pub(super) struct Unsent {
    /// Those that were ready.
    pub(super) ready: Vec<u64>,
    /// Those that nobody has made.
    pub(super) rest: Option<StepBy<Range<u64>>>,
}

impl Unsent {
    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.rest.clone().is_none_or(|mut it| it.next().is_none())
    }

    fn numbers(self) -> impl Iterator<Item = u64> {
        self.ready.into_iter().chain(self.rest.into_iter().flatten())
    }
}

/// Waits until all flights have ended, and ends them when the load is aborted, or at `limit`.
pub(super) async fn drain(shared: &Shared, mut flights: JoinSet<()>, limit: Option<Duration>) {
    let mut stop = shared.stop.watch();
    let all = async {
        let aborted = stop.wait_for(|it| matches!(it, StopState::Abort(_)));
        tokio::pin!(aborted);
        loop {
            tokio::select! {
                joined = flights.join_next() => match joined {
                    Some(joined) => landed(joined),
                    None => return true,
                },
                _ = &mut aborted => return false,
            }
        }
    };
    if shared.clock.within(limit, all).await != Ok(true) {
        flights.shutdown().await;
    }
}

/// How the lanes begin a stage together.
pub(super) struct Meeting<'a> {
    lane: &'a Lane,
    meetings: &'a mut u64,
    pub(super) stage: usize,
    earliest: Duration,
    probing: Option<Probing>,
    /// Open from the start of the stage on.
    window: Option<Window>,
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
