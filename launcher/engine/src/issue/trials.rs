//! Trials: stages whose load is chosen while the run goes on, and which end as soon as their requests suffice for a verdict. Pure.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use crds::units::Seed;
use tokio::sync::watch;
use workload_profiles::workload::{Load, Stage, Window};

use super::plan::{PlannedLoad, Slots, Surge};
use crate::{client::request_timeouts::RequestProgress, schedule::schedule};
use measurement::{
    record::{RequestRecord, Turn},
    window::StageWindow,
};

/// Chooses the load of each stage while the run goes on, and decides when the stage ends. Each stage is a trial. A look evaluates its requests so
/// far.
///
/// [`begin`](Self::begin) is called on a load thread while nothing is sent. [`look`](Self::look) is called on a separate thread.
pub trait Trials: Debug + Send + Sync {
    /// Returns the next trial; `None` ends the load. Called once per stage, in order, after all requests of the earlier stages have ended. `now` is
    /// on the clock of the load.
    fn begin(&self, stage: usize, now: Duration) -> Option<TrialStage>;

    /// Returns the time of the next look, from the start of the stage; `None` if there is none.
    fn next_look(&self) -> Option<Duration>;

    /// Evaluates the requests of the stage. Returns whether the stage ends.
    fn look(&self, requests: RequestsSoFar) -> bool;
}

/// A trial.
#[derive(Clone, Debug)]
pub struct TrialStage {
    /// The stage. Its load is open or closed, like the load of the workload's stage.
    pub stage: Stage,
    /// Additional slots of a closed loop at the start of the stage, and how long they send requests; `None` if there are none.
    pub surge: Option<(u32, Duration)>,
}

/// The requests of a stage at a look. All times are on the clock of the load.
#[derive(Debug)]
pub struct RequestsSoFar {
    /// When the stage began.
    pub start: Duration,
    /// The time of the look.
    pub now: Duration,
    /// The requests that have ended since the last look at the stage.
    pub ended: Vec<RequestRecord>,
    /// All requests in flight.
    pub in_flight: Vec<InFlight>,
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    /// When it was due.
    pub due: Duration,
    /// When its first token arrived; `None` if none has arrived.
    pub first_token: Option<Duration>,
}

/// The load of a trial that has begun.
#[derive(Debug)]
pub(super) struct DrawnTrial {
    pub(super) load: PlannedLoad,
    pub(super) window: StageWindow,
}

impl DrawnTrial {
    /// Draws the request times of a trial.
    pub(super) fn new(trial: &TrialStage, seed: Seed) -> DrawnTrial {
        let TrialStage { stage, surge } = trial;
        let schedule = schedule(&stage.load, &[], seed);
        let window = StageWindow::new(stage, Window::default(), schedule.as_ref());
        let load = match stage.load {
            Load::Closed { concurrency, count, duration, ramp_up, start_rate } => PlannedLoad::Closed(Slots {
                concurrency: u64::from(concurrency),
                count,
                duration: duration.map(|it| it.0),
                ramp_up: ramp_up.0,
                start_rate,
                surge: surge.map(|(slots, until)| Surge { slots: u64::from(slots), until }),
            }),
            _ => PlannedLoad::Open(schedule.unwrap_or_default()),
        };
        DrawnTrial { load, window }
    }
}

/// The trials of a load.
#[derive(Debug)]
pub(super) struct RunningTrials {
    decider: Arc<dyn Trials>,
    requests: Mutex<Requests>,
    stages: Vec<TrialState>,
}

/// The requests of the current stage. A load thread holds the lock only to add or to move one request.
#[derive(Debug, Default)]
struct Requests {
    /// By number. The turns of a session have the same number.
    in_flight: BTreeMap<(u64, Option<Turn>), Sent>,
    /// The requests that have ended since the last look.
    ended: Vec<RequestRecord>,
}

#[derive(Debug, Default)]
struct TrialState {
    drawn: OnceLock<Option<DrawnTrial>>,
    /// When a look ended the stage; `None` if none did.
    ended: watch::Sender<Option<Duration>>,
}

#[derive(Debug)]
struct Sent {
    due: Duration,
    progress: Arc<RequestProgress>,
}

impl RunningTrials {
    pub(super) fn new(decider: Arc<dyn Trials>, stages: usize) -> RunningTrials {
        let stages = (0..stages).map(|_| TrialState::default()).collect();
        RunningTrials { decider, requests: Mutex::default(), stages }
    }

    /// Returns the trial of a stage; `None` if the load ends before the stage. The first worker that calls this draws the trial; the other workers
    /// wait.
    pub(super) fn begin(
        &self,
        stage: usize,
        now: Duration,
        draw: impl FnOnce(TrialStage) -> DrawnTrial,
    ) -> Option<&DrawnTrial> {
        let begin = || {
            *self.requests() = Requests::default();
            self.decider.begin(stage, now).map(draw)
        };
        self.stages[stage].drawn.get_or_init(begin).as_ref()
    }

    /// Returns the trial of a stage; `None` if it has not begun.
    pub(super) fn drawn(&self, stage: usize) -> Option<&DrawnTrial> {
        self.stages[stage].drawn.get()?.as_ref()
    }

    /// Returns when a look ended a stage; `None` if none did.
    pub(super) fn end(&self, stage: usize) -> Option<Duration> {
        *self.stages[stage].ended.borrow()
    }

    /// Waits until a look ends a stage.
    pub(super) async fn ended(&self, stage: usize) {
        // The wait cannot fail, because `self` owns the sender.
        let _ = self.stages[stage].ended.subscribe().wait_for(Option::is_some).await;
    }

    /// When to look next, from the start of the stage.
    pub(super) fn next_look(&self) -> Option<Duration> {
        self.decider.next_look()
    }

    /// Looks at a stage that began at `start`, and ends it if that is decided. Returns whether it ends.
    pub(super) fn look(&self, stage: usize, start: Duration, now: Duration) -> bool {
        let requests = {
            let mut requests = self.requests();
            let in_flight = |it: &Sent| InFlight { due: it.due, first_token: it.progress.first_token() };
            let in_flight = requests.in_flight.values().map(in_flight).collect();
            RequestsSoFar { start, now, ended: std::mem::take(&mut requests.ended), in_flight }
        };
        let ends = self.decider.look(requests);
        if ends {
            self.stages[stage].ended.send_replace(Some(now));
        }
        ends
    }

    /// Records that a request begins.
    pub(super) fn note_sent(
        &self,
        (number, turn): (u64, Option<Turn>),
        due: Duration,
        progress: &Arc<RequestProgress>,
    ) {
        self.requests().in_flight.insert((number, turn), Sent { due, progress: Arc::clone(progress) });
    }

    /// Records that a request has ended.
    pub(super) fn note_ended(&self, record: &RequestRecord) {
        let mut requests = self.requests();
        requests.in_flight.remove(&(record.number, record.turn));
        requests.ended.push(record.clone());
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
