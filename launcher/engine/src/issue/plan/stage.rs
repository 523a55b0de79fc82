//! A stage as it will be issued.

use std::{sync::Arc, time::Duration};

use crds::units::{RequestRate, Span};
use workload_profiles::workload::{Load, Margin, Stage, Window};

use crate::{
    issue::{departures::Clients, measured_rate::MeasuredLoad, outputs::KeepOutputs},
    requests::RecordedLengths,
    schedule::users::UserTurns,
};
use measurement::{latency_origin::LatencyOrigin, phase::Phase, schedule::Schedule, window::StageWindow};

/// A stage as it will be issued.
#[derive(Debug)]
pub(in crate::issue) struct PlannedStage {
    pub(in crate::issue) name: String,
    pub(in crate::issue) load: PlannedLoad,
    /// The time from which the latencies in its time series count.
    pub(in crate::issue) latency_origin: LatencyOrigin,
    pub(in crate::issue) pause_after: Duration,
    /// Recorded lengths of prompts and answers by request number; empty if the request source determines them.
    pub(in crate::issue) lengths: Vec<RecordedLengths>,
    /// Maximum requests in flight; `None` if the load has no such bound, or has slots.
    pub(in crate::issue) max_concurrency: Option<u32>,
    /// For a load of users: the turn of each request.
    pub(in crate::issue) users: Option<UserTurns>,
    /// For a phase: the queries to issue, and when it ends.
    pub(in crate::issue) phase: Option<Arc<dyn Phase>>,
    /// Clients that disconnect early; `None` if all of them wait.
    pub(in crate::issue) clients: Option<Clients>,
    /// Samples per request, for a phase in static batches.
    pub(in crate::issue) batch: Option<u32>,
    /// The requests with kept output.
    pub(in crate::issue) outputs: KeepOutputs,
    /// The window, if the times are known before the run.
    pub(in crate::issue) window: StageWindow,
    pub(in crate::issue) grace: Option<Duration>,
}

/// When the requests of a stage are due.
#[derive(Debug)]
pub(in crate::issue) enum PlannedLoad {
    /// At the times of a schedule.
    Open(Schedule),
    /// At times that are drawn when the stage begins.
    Measured(Box<MeasuredLoad>),
    /// When a slot becomes free.
    Closed(Slots),
    /// Query by query: a query is due when the previous query is complete.
    Stream(Arc<dyn Phase>),
}

/// The slots of a closed loop.
#[derive(Clone, Copy, Debug)]
pub(in crate::issue) struct Slots {
    pub(in crate::issue) concurrency: u64,
    /// Requests of all slots; `None`: until the duration is over.
    pub(in crate::issue) count: Option<u64>,
    /// How long requests are sent; `None`: until `count` requests were sent.
    pub(in crate::issue) duration: Option<Duration>,
    /// The slots are opened one after the other, evenly within this time.
    pub(in crate::issue) ramp_up: Duration,
    /// Maximum requests that start per second, over all slots; `None`: no limit.
    pub(in crate::issue) start_rate: Option<RequestRate>,
}

impl PlannedLoad {
    /// Number of requests, or 0 if it is not known before the load.
    pub(in crate::issue) fn count(&self) -> u64 {
        self.decided().unwrap_or_default()
    }

    /// Number of requests; `None` if it depends on answers, time or earlier stages.
    pub(in crate::issue) fn decided(&self) -> Option<u64> {
        match self {
            PlannedLoad::Open(schedule) => Some(schedule.len()),
            PlannedLoad::Measured(load) => load.count(),
            PlannedLoad::Closed(slots) => slots.count.filter(|_| slots.duration.is_none()),
            // The rules end the phase before its queries are used up.
            PlannedLoad::Stream(phase) => (!phase.has_rules()).then(|| phase.request_count()),
        }
    }

    /// Number of requests; `None` if it is not known before the load.
    pub(in crate::issue) fn known(&self) -> Option<u64> {
        match self {
            PlannedLoad::Open(schedule) => Some(schedule.len()),
            PlannedLoad::Closed(slots) => slots.count.filter(|_| slots.duration.is_none()),
            PlannedLoad::Measured(_) | PlannedLoad::Stream(_) => None,
        }
    }

    /// Maximum number of requests; `None` if only time or rules end the stage.
    pub(in crate::issue) fn most(&self) -> Option<u64> {
        match self {
            PlannedLoad::Open(schedule) => Some(schedule.len()),
            PlannedLoad::Closed(slots) => slots.count,
            PlannedLoad::Measured(load) => load.count(),
            PlannedLoad::Stream(_) => None,
        }
    }

    /// Leaves out all requests but the first `most`.
    pub(super) fn truncate(&mut self, most: u64) {
        match self {
            PlannedLoad::Open(schedule) => schedule.truncate(most),
            PlannedLoad::Closed(slots) => slots.count = Some(slots.count.map_or(most, |it| it.min(most))),
            PlannedLoad::Measured(_) | PlannedLoad::Stream(_) => {}
        }
    }
}

impl PlannedStage {
    /// Leaves out all requests but the first `most`, from the window too. Returns whether the stage would have sent more.
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
            // The last request of the stage ends it, unless its duration ends earlier. A cool-down with a duration counts from a known time.
            (_, Load::Closed { count, duration, .. }) => {
                *count = Some(most);
                *duration = duration.filter(|_| matches!(stage.cool_down, Some(Margin::Duration(_))));
            }
            _ => {}
        }
        self.load.truncate(most);
        let schedule = match &self.load {
            PlannedLoad::Open(schedule) => Some(schedule),
            PlannedLoad::Measured(_) | PlannedLoad::Closed(_) | PlannedLoad::Stream(_) => None,
        };
        self.window = StageWindow::new(&shorter, window, schedule);
        true
    }

    /// The index in the request source: the request's own number, or the row that a phase sends at this number.
    pub(in crate::issue) fn content(&self, number: u64) -> u64 {
        self.phase.as_ref().map_or(number, |it| it.row(number))
    }

    /// The recorded lengths of a request.
    pub(in crate::issue) fn recorded(&self, number: u64) -> RecordedLengths {
        usize::try_from(number).ok().and_then(|it| self.lengths.get(it)).copied().unwrap_or_default()
    }
}
