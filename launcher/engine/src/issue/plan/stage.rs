//! A stage with all decisions made that precede the first request.

use std::{sync::Arc, time::Duration};

use crds::units::{RequestRate, Seed, Span};
use workload_profiles::workload::{Load, Margin, Stage, Window};

use crate::{
    issue::{departures::Clients, measured_rate::MeasuredLoad, outputs::KeepOutputs},
    requests::RecordedLengths,
    schedule::users::UserTurns,
};
use measurement::{latency_origin::LatencyOrigin, phase::Phase, schedule::Schedule, window::StageWindow};

#[derive(Debug)]
pub(in crate::issue) struct PlannedStage {
    pub(in crate::issue) name: String,
    pub(in crate::issue) load: PlannedLoad,
    /// The time from which the latencies in the stage's time series count.
    pub(in crate::issue) latency_origin: LatencyOrigin,
    pub(in crate::issue) pause_after: Duration,
    /// Recorded lengths of prompts and answers, by request number. Empty if the request source determines the lengths.
    pub(in crate::issue) lengths: Vec<RecordedLengths>,
    /// Maximum number of requests in flight; `None` if there is no limit, or if the load is a closed loop.
    pub(in crate::issue) max_concurrency: Option<u32>,
    /// The user's turn that each request is, if the load simulates users.
    pub(in crate::issue) users: Option<UserTurns>,
    /// The LoadGen phase, which determines the queries and when the stage ends; `None` if the stage is not a phase.
    pub(in crate::issue) phase: Option<Arc<dyn Phase>>,
    /// The clients that disconnect early; `None` if all of them wait.
    pub(in crate::issue) clients: Option<Clients>,
    /// Samples per request, if the stage is a phase with static batches.
    pub(in crate::issue) batch: Option<u32>,
    /// The requests whose output is kept.
    pub(in crate::issue) outputs: KeepOutputs,
    /// The measurement window, if the request times are known before the run.
    pub(in crate::issue) window: StageWindow,
    pub(in crate::issue) grace: Option<Duration>,
}

/// When the requests of a stage are due.
#[derive(Debug)]
pub(in crate::issue) enum PlannedLoad {
    /// At the times of a schedule.
    Open(Schedule),
    /// At times drawn when the stage begins.
    Measured(Box<MeasuredLoad>),
    /// When a slot becomes free.
    Closed(Slots),
    /// When all samples of the previous query are complete.
    Stream(Arc<dyn Phase>),
    /// As decided when the stage begins, in a trial. Contains the seed of the request times.
    Trial(Seed),
}

/// The slots of a closed loop.
#[derive(Clone, Copy, Debug)]
pub(in crate::issue) struct Slots {
    pub(in crate::issue) concurrency: u64,
    /// Total number of requests in all slots; `None`: until the duration is over.
    pub(in crate::issue) count: Option<u64>,
    /// How long requests are sent; `None`: until `count` requests were sent.
    pub(in crate::issue) duration: Option<Duration>,
    /// The time within which the slots are opened one by one, evenly spaced.
    pub(in crate::issue) ramp_up: Duration,
    /// Maximum number of requests started per second, over all slots; `None` means no limit.
    pub(in crate::issue) start_rate: Option<RequestRate>,
    /// Additional slots at the start of the stage.
    pub(in crate::issue) surge: Option<Surge>,
}

/// Additional slots of a closed loop, numbered after its other slots.
#[derive(Clone, Copy, Debug)]
pub(in crate::issue) struct Surge {
    pub(in crate::issue) slots: u64,
    /// The time after which these slots send no more requests, from the start of the stage.
    pub(in crate::issue) until: Duration,
}

impl Slots {
    /// Returns the number of slots at the start of the stage.
    pub(in crate::issue) fn at_start(&self) -> u64 {
        self.concurrency + self.surge.map_or(0, |it| it.slots)
    }

    /// Returns when a slot stops sending, from the start of the stage; `None` if it sends until its requests are used up.
    pub(in crate::issue) fn over(&self, slot: u64) -> Option<Duration> {
        let surge = self.surge.filter(|_| slot >= self.concurrency).map(|it| it.until);
        surge.into_iter().chain(self.duration).min()
    }
}

impl PlannedLoad {
    /// Returns the number of requests, or 0 if it is unknown before the load.
    pub(in crate::issue) fn count(&self) -> u64 {
        self.decided().unwrap_or_default()
    }

    /// Returns the number of requests; `None` if it depends on answers, on time, or on earlier stages.
    pub(in crate::issue) fn decided(&self) -> Option<u64> {
        match self {
            PlannedLoad::Open(schedule) => Some(schedule.len()),
            PlannedLoad::Measured(load) => load.count(),
            PlannedLoad::Closed(slots) => slots.count.filter(|_| slots.duration.is_none()),
            // Rules can end the phase before its queries are used up.
            PlannedLoad::Stream(phase) => (!phase.has_rules()).then(|| phase.request_count()),
            PlannedLoad::Trial(_) => None,
        }
    }

    /// Returns the number of requests; `None` if it is unknown before the load.
    pub(in crate::issue) fn known(&self) -> Option<u64> {
        match self {
            PlannedLoad::Open(schedule) => Some(schedule.len()),
            PlannedLoad::Closed(slots) => slots.count.filter(|_| slots.duration.is_none()),
            PlannedLoad::Measured(_) | PlannedLoad::Stream(_) | PlannedLoad::Trial(_) => None,
        }
    }

    /// Returns the maximum number of requests; `None` if only time or rules end the stage.
    pub(in crate::issue) fn most(&self) -> Option<u64> {
        match self {
            PlannedLoad::Open(schedule) => Some(schedule.len()),
            PlannedLoad::Closed(slots) => slots.count,
            PlannedLoad::Measured(load) => load.count(),
            PlannedLoad::Stream(_) | PlannedLoad::Trial(_) => None,
        }
    }

    /// Keeps only the first `most` requests.
    pub(super) fn truncate(&mut self, most: u64) {
        match self {
            PlannedLoad::Open(schedule) => schedule.truncate(most),
            PlannedLoad::Closed(slots) => slots.count = Some(slots.count.map_or(most, |it| it.min(most))),
            PlannedLoad::Measured(_) | PlannedLoad::Stream(_) | PlannedLoad::Trial(_) => {}
        }
    }
}

impl PlannedStage {
    /// Keeps only the first `most` requests, and adapts the window. Returns whether the stage would have sent more.
    pub(super) fn end_after(&mut self, most: u64, stage: &Stage, window: Window) -> bool {
        if self.load.most().is_some_and(|it| it <= most) {
            return false;
        }
        let mut shorter = stage.clone();
        match (&self.load, &mut shorter.load) {
            // The stage ends when the first omitted request would have been due.
            (PlannedLoad::Open(schedule), Load::Open { duration: Some(length), .. })
            | (PlannedLoad::Open(schedule), Load::Users { duration: Some(length), .. })
                if most > 0 =>
            {
                *length = schedule.get(most).map_or(*length, Span);
            }
            (PlannedLoad::Open(_), Load::Open { duration, .. } | Load::Users { duration, .. }) => *duration = None,
            // For the window, the stage ends with its last request. Its duration only matters for a cool-down of fixed length, which needs
            // a known end.
            (_, Load::Closed { count, duration, .. }) => {
                *count = Some(most);
                *duration = duration.filter(|_| matches!(stage.cool_down, Some(Margin::Duration(_))));
            }
            _ => {}
        }
        self.load.truncate(most);
        let schedule = match &self.load {
            PlannedLoad::Open(schedule) => Some(schedule),
            PlannedLoad::Measured(_) | PlannedLoad::Closed(_) | PlannedLoad::Stream(_) | PlannedLoad::Trial(_) => None,
        };
        self.window = StageWindow::new(&shorter, window, schedule);
        true
    }

    /// Returns the index in the request source: the request's own number, or the row that a phase assigns to that number.
    pub(in crate::issue) fn content(&self, number: u64) -> u64 {
        self.phase.as_ref().map_or(number, |it| it.row(number))
    }

    /// Returns the recorded lengths of a request.
    pub(in crate::issue) fn recorded(&self, number: u64) -> RecordedLengths {
        usize::try_from(number).ok().and_then(|it| self.lengths.get(it)).copied().unwrap_or_default()
    }
}
