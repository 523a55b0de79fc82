//! Trials: stages whose load is chosen while the run goes on, and which end as soon as their requests suffice for a verdict. Pure.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use crds::units::Seed;
use tokio::sync::{OnceCell, watch};
use workload_profiles::workload::{Load, Stage, Window};

use super::plan::{PlannedLoad, Slots, Surge};
use crate::{
    client::request_timeouts::RequestProgress,
    schedule::schedule,
    stop::{Stop, StopState},
};
use measurement::{
    record::{RequestRecord, Turn},
    vitals::worker::StageVitals,
    window::StageWindow,
};

/// Chooses the load of each stage while the run goes on, and decides when the stage ends. Each stage is a trial. A look evaluates its requests so
/// far.
///
/// [`settle`](Self::settle) and [`begin`](Self::begin) are called on a load thread while nothing is sent. [`look`](Self::look) is called on a separate
/// thread.
pub trait Trials: Debug + Send + Sync {
    /// Waits until the server has no work left of the earlier stages. Called once per stage, before [`begin`](Self::begin). A stop of the run ends the
    /// wait.
    fn settle(&self, stage: usize) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Returns the next trial; `None` ends the load. Called once per stage, in order, after all requests of the earlier stages have ended. `now` is
    /// on the clock of the load. `cpu_share`: the share of the earlier stage in which the busiest load thread used a CPU or waited for one.
    fn begin(&self, stage: usize, now: Duration, cpu_share: f64) -> Option<TrialStage>;

    /// Returns the time of the next evaluation, from the start of the stage; `None` if there is no further evaluation.
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

/// The requests of a stage at one evaluation. All times are on the clock of the load.
#[derive(Debug)]
pub struct RequestsSoFar {
    /// When the stage began.
    pub start: Duration,
    /// The time of the evaluation.
    pub now: Duration,
    /// The requests that have ended since the last evaluation of the stage.
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
    /// The requests that have ended since the last evaluation.
    ended: Vec<RequestRecord>,
}

#[derive(Debug, Default)]
struct TrialState {
    settled: OnceCell<()>,
    /// The largest share of the stage in which a load thread used a CPU or waited for one.
    cpu_share: Mutex<f64>,
    drawn: OnceLock<Option<DrawnTrial>>,
    /// The time when an evaluation ended the stage; `None` if no evaluation ended it.
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
            let cpu_share = stage.checked_sub(1).map_or(0.0, |it| *self.cpu_share(it));
            self.decider.begin(stage, now, cpu_share).map(draw)
        };
        self.stages[stage].drawn.get_or_init(begin).as_ref()
    }

    /// Waits until a stage may begin. The first worker waits for the server; the other workers wait for the first.
    pub(super) async fn settle(&self, stage: usize, stop: &Stop) {
        let settle = || async {
            let mut stop = stop.watch();
            tokio::select! {
                () = self.decider.settle(stage) => {}
                _ = stop.wait_for(|it| *it != StopState::Run) => {}
            }
        };
        self.stages[stage].settled.get_or_init(settle).await;
    }

    /// Records the vitals of one worker in a stage that has ended.
    pub(super) fn note_vitals(&self, stage: usize, vitals: &StageVitals) {
        let needed = vitals.cpu + vitals.waited.unwrap_or_default();
        let share = needed.as_secs_f64() / vitals.wall.as_secs_f64();
        if share.is_finite() {
            let mut most = self.cpu_share(stage);
            *most = most.max(share.min(1.0));
        }
    }

    fn cpu_share(&self, stage: usize) -> MutexGuard<'_, f64> {
        self.stages[stage].cpu_share.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the trial of a stage; `None` if it has not begun.
    pub(super) fn drawn(&self, stage: usize) -> Option<&DrawnTrial> {
        self.stages[stage].drawn.get()?.as_ref()
    }

    /// Returns the time when an evaluation ended a stage; `None` if no evaluation ended it.
    pub(super) fn end(&self, stage: usize) -> Option<Duration> {
        *self.stages[stage].ended.borrow()
    }

    /// Waits until an evaluation ends a stage.
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

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use measurement::record::RequestOutcome;

    use super::*;

    /// Keeps the requests of each look and the CPU share at each start, and never ends a stage.
    #[derive(Debug, Default)]
    struct Looks(Mutex<Vec<RequestsSoFar>>, Mutex<Vec<f64>>);

    impl Trials for Looks {
        fn settle(&self, _: usize) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            Box::pin(std::future::ready(()))
        }

        fn begin(&self, _: usize, _: Duration, cpu_share: f64) -> Option<TrialStage> {
            self.1.lock().unwrap().push(cpu_share);
            None
        }

        fn next_look(&self) -> Option<Duration> {
            None
        }

        fn look(&self, requests: RequestsSoFar) -> bool {
            self.0.lock().unwrap().push(requests);
            false
        }
    }

    fn ended(number: u64, turn: Option<Turn>) -> RequestRecord {
        RequestRecord {
            stage: 0,
            number,
            turn,
            scheduled: Duration::ZERO,
            sent: None,
            permit_wait: None,
            first_token: None,
            last_token: None,
            ended: Duration::ZERO,
            outcome: RequestOutcome::Ok,
            requested_input_tokens: None,
            requested_output_tokens: None,
            input_tokens: None,
            cached_tokens: None,
            class: None,
            output_tokens: None,
            content_events: 0,
            replica: None,
        }
    }

    #[test]
    fn the_turns_of_a_session_are_in_flight_together_and_end_once() {
        let looks = Arc::new(Looks::default());
        let trials = RunningTrials::new(Arc::clone(&looks) as Arc<dyn Trials>, 1);
        let turn = |number: u32| Some(Turn { session: 0, number: NonZeroU32::new(number).unwrap() });
        // The turns of a session have the number of the session. A request without a session may have the same number.
        for (it, due) in [((7, turn(1)), 1), ((7, turn(2)), 2), ((7, None), 3)] {
            trials.note_sent(it, Duration::from_secs(due), &Arc::default());
        }
        let look = || {
            trials.look(0, Duration::ZERO, Duration::from_secs(9));
            let seen = looks.0.lock().unwrap().pop().unwrap();
            let due: Vec<u64> = seen.in_flight.iter().map(|it| it.due.as_secs()).collect();
            (due, seen.ended.iter().map(|it| it.turn).collect::<Vec<_>>())
        };
        let (mut due, none) = look();
        due.sort_unstable();
        assert_eq!((due, none), (vec![1, 2, 3], vec![]));
        trials.note_ended(&ended(7, turn(2)));
        let (mut due, of_look) = look();
        due.sort_unstable();
        assert_eq!((due, of_look), (vec![1, 3], vec![turn(2)]), "the other requests with this number are in flight");
        trials.note_ended(&ended(7, None));
        assert_eq!(look(), (vec![1], vec![None]), "each ended request is handed over once");
    }
    #[test]
    fn a_trial_begins_with_the_cpu_share_of_the_busiest_worker_in_the_stage_before_it() {
        let looks = Arc::new(Looks::default());
        let trials = RunningTrials::new(Arc::clone(&looks) as Arc<dyn Trials>, 2);
        let begin = |stage: usize| assert!(trials.begin(stage, Duration::ZERO, |_| unreachable!()).is_none());
        begin(0);
        for (cpu, waited) in [(2, Some(1)), (5, Some(4)), (1, None)] {
            let waited = waited.map(Duration::from_secs);
            let vitals = StageVitals {
                cpu: Duration::from_secs(cpu),
                waited,
                wall: Duration::from_secs(10),
                receive_delay: None,
            };
            trials.note_vitals(0, &vitals);
        }
        trials.note_vitals(0, &StageVitals::default());
        begin(1);
        assert_eq!(*looks.1.lock().unwrap(), [0.0, 0.9]);
    }
}
