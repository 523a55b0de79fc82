//! Collects the results of requests: counts, histograms and a time series per stage, a sample of the requests, and, if the run needs
//! records, a compact record of each request.
//!
//! Each worker has its own recorder. They are merged at the end without loss. Without records, memory does not grow with the number of
//! requests.

mod breakdown;
mod earliest;
mod form;
mod merge;
mod records;
mod request_sample;
mod rewindow;
pub mod series;
mod session_tally;
mod tally;
mod tape;
mod wire_tally;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use workload_profiles::workload::Goodput;

use crate::{
    inter_token_times::InterTokenTimes,
    latency_origin::LatencyOrigin,
    output::Output,
    record::{RequestOutcome, RequestRecord},
    window::{Opened, StageWindow, WindowPart},
};

pub use breakdown::Breakdown;
pub use earliest::Earliest;
pub use merge::MergeError;
use records::Place;
pub use records::{InFigures, RecordBudget, Records};
pub use request_sample::{MOST_SAMPLED, RequestSample, SampledRequest};
pub use rewindow::RewindowError;
pub use series::TimeSeries;
pub use session_tally::{SessionEnd, SessionTally, TURNS, TurnTally};
use tally::is_good;
pub use tally::{CauseTally, StageTally};
pub use tape::Tape;
use tape::{Entry, Event};
pub use wire_tally::{SetAside, Steps, WireTally};

/// Which data is kept of each request, in addition to counts and histograms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Keep {
    /// None. Memory does not grow with the number of requests.
    #[default]
    Summary,
    /// A record of each request. The figures cannot be recomputed with other windows.
    RecordsAlone,
    /// A record of each request, and the additional data to recompute the figures with other windows.
    Records,
    /// Like `Records`, and the times between the content events of each request.
    RecordsAndGaps,
}

/// The kept output of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptOutput {
    /// Index of the stage in the workload.
    pub stage: u32,
    pub number: u64,
    /// Index of the data set row that the request sent, from 0; `None` if the requests have another source.
    pub row: Option<u64>,
    /// When the request ended, on the run's clock.
    pub ended: Duration,
    pub output: Output,
}

/// Collects the results of one worker.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// One tally per stage of the workload.
    pub stages: Vec<StageTally>,
    /// One record per started request, in the order in which the requests ended; `None` if the run needs no records.
    pub records: Option<Records>,
    /// Number of requests whose stage does not exist.
    strays: u64,
    /// What the recorder was given in addition to the records; `None` if the run needs no records.
    pub tape: Option<Tape>,
    /// The kept outputs of requests that ended without an error, in the order in which the requests ended. The load chooses the requests,
    /// and each output has a maximum size.
    pub outputs: Vec<KeptOutput>,
    /// One tally per traffic class, over all stages; empty if there are no classes. Requests that were never sent are not included.
    pub classes: Vec<StageTally>,
    /// One tally of probes per stage; empty if the workload has no probes.
    pub probes: Vec<StageTally>,
    /// One tally of sessions per stage; empty if the requests form no sessions.
    pub sessions: Vec<SessionTally>,
    /// One time series per stage. It includes every request of the load, even those that are excluded from the figures.
    pub series: Vec<TimeSeries>,
    /// A sample of the load's requests. It can include requests that are excluded from the figures.
    pub sample: RequestSample,
    windows: Vec<Opened>,
    goodput: Goodput,
}

impl Recorder {
    pub fn new(stages: usize, goodput: Goodput, keep: Keep) -> Self {
        // A new histogram takes no memory before its first count, but a clone would. So tallies are created and not cloned.
        let tallies = (0..stages).map(|_| StageTally::default()).collect();
        Recorder {
            stages: tallies,
            records: (keep != Keep::Summary).then(Records::default),
            tape: match keep {
                Keep::Summary | Keep::RecordsAlone => None,
                Keep::Records => Some(Tape::new(false)),
                Keep::RecordsAndGaps => Some(Tape::new(true)),
            },
            strays: 0,
            outputs: Vec::new(),
            classes: Vec::new(),
            probes: Vec::new(),
            sessions: Vec::new(),
            series: (0..stages).map(|_| TimeSeries::of_stage(stages, LatencyOrigin::Scheduled)).collect(),
            sample: RequestSample::default(),
            windows: vec![Opened::default(); stages],
            goodput,
        }
    }

    /// Sets the windows, one per stage. Without a window, every request is part of the figures.
    pub fn with_windows(mut self, windows: impl IntoIterator<Item = StageWindow>) -> Self {
        for (mine, window) in self.windows.iter_mut().zip(windows) {
            mine.window = window;
        }
        self
    }

    /// Sets the origin from which the latencies in each stage's time series are counted. The default is the scheduled time.
    pub fn with_latency_origins(mut self, origins: impl IntoIterator<Item = LatencyOrigin>) -> Self {
        for (series, origin) in self.series.iter_mut().zip(origins) {
            series.set_latency_origin(origin);
        }
        self
    }

    /// Limits the number of records, if records are kept.
    pub fn with_record_budget(mut self, budget: RecordBudget) -> Self {
        self.tape = self.tape.map(|it| it.with_budget(budget.clone()));
        self.records = self.records.map(|_| Records::new(budget));
        self
    }

    /// Removes all stages after the first `count`. No request may belong to them.
    pub(crate) fn keep_stages(&mut self, count: usize) {
        for tallies in [&mut self.stages, &mut self.probes] {
            tallies.truncate(count);
        }
        self.sessions.truncate(count);
        self.series.truncate(count);
        self.windows.truncate(count);
    }

    /// Adds tallies for this many traffic classes.
    pub fn with_classes(mut self, count: usize) -> Self {
        self.classes = (0..count).map(|_| StageTally::default()).collect();
        self
    }

    /// Adds tallies for probes.
    pub fn with_probes(mut self) -> Self {
        self.probes = self.stages.iter().map(|_| StageTally::default()).collect();
        self
    }

    /// Adds tallies for sessions.
    pub fn with_sessions(mut self) -> Self {
        self.sessions = self.stages.iter().map(|_| SessionTally::default()).collect();
        self
    }

    /// Opens the window of a stage that begins at `start`.
    pub fn open(&mut self, stage: usize, window: StageWindow, start: Duration) {
        let (Some(opened), Some(tally)) = (self.windows.get_mut(stage), self.stages.get_mut(stage)) else { return };
        *opened = Opened { window, start };
        tally.window_bounds = opened.window.bounds(start).filter(|_| !opened.window.is_empty());
        let opened = *opened;
        self.note(|| Event::Open { stage, opened });
    }

    /// Ends the window of a stage that was stopped, unless it has ended already. `later` states whether more requests would have been due.
    pub fn stop_early(&mut self, stage: usize, now: Duration, later: bool) {
        let Some(tally) = self.stages.get_mut(stage) else { return };
        tally.stopped_early |= later;
        // A window that had not begun has no figures. The windows of earlier stages have already ended.
        for tally in std::iter::once(tally).chain(&mut self.classes) {
            tally.window_bounds =
                tally.window_bounds.filter(|(open, _)| *open < now).map(|(open, close)| (open, close.min(now)));
        }
        self.note(|| Event::StopEarly { stage, now, later });
    }

    /// Appends an event to the tape, if there is one.
    fn note(&mut self, event: impl FnOnce() -> Event) {
        if let Some(tape) = &mut self.tape {
            tape.note(&event());
        }
    }

    /// Counts a request, in the part of the stage (such as warm-up or window) that it belongs to.
    pub fn record(&mut self, request: RequestRecord, wire: &WireTally) {
        if let Some(series) = self.series.get_mut(request.stage as usize) {
            series.record(&request, wire);
            self.sample.record(&request);
        }
        let is_good = request.outcome.is_success() && is_good(&request, wire, &self.goodput);
        self.count(request, wire, is_good);
    }

    /// Counts a request in the tallies, and keeps its record. `is_good` states whether it met all goodput limits.
    fn count(&mut self, request: RequestRecord, wire: &WireTally, is_good: bool) {
        let stage = request.stage as usize;
        let in_figures = match (self.stages.get_mut(stage), self.windows.get(stage)) {
            (Some(tally), Some(Opened { window, start })) => match (window.part(*start, &request), tally.window_bounds)
            {
                (WindowPart::Counted, bounds) => {
                    let class = request.class.and_then(|it| self.classes.get_mut(it.get()));
                    if let Some(class) = class {
                        class.record_in(bounds, &request, wire, is_good);
                    }
                    let in_figures = tally.record_in(bounds, &request, wire, is_good);
                    if let Some(sessions) = self.sessions.get_mut(stage) {
                        sessions.record_turn(&request, in_figures.answer);
                    }
                    in_figures
                }
                (part, _) => {
                    tally.exclude(part, request.outcome, 1);
                    InFigures::default()
                }
            },
            _ => {
                self.strays += 1;
                InFigures::default()
            }
        };
        self.keep(request, in_figures, wire, is_good);
    }

    /// Keeps the record of a counted request, if the run needs records and there is room.
    fn keep(&mut self, request: RequestRecord, in_figures: InFigures, wire: &WireTally, is_good: bool) {
        let Some(records) = &mut self.records else { return };
        let Some(tape) = &mut self.tape else {
            records.push(request, in_figures);
            return;
        };
        let mut place = records.find_place();
        if place == Place::None && tape.is_whole() {
            // There is no room for both: records are more important than recomputing the figures, so the tape is dropped.
            tape.lose();
            place = records.find_place();
        }
        match place {
            Place::NewBlock => tape.pay(RecordBudget::TAPE_OF_BLOCK),
            Place::Block => {}
            Place::None => tape.lose(),
        }
        tape.note_request(&request, wire, is_good);
        records.push(request, in_figures);
    }

    /// Returns the times between content events for each record, in the order of the records; `None` if they were not kept.
    pub fn gaps(&self) -> Option<Vec<InterTokenTimes>> {
        let (tape, records) = (self.tape.as_ref()?, self.records.as_ref()?);
        if !tape.has_token_times() || !tape.is_whole() {
            return None;
        }
        let requests = tape.recorders().flatten().filter_map(|it| match it {
            Ok(Entry::Request(entry)) => Some(entry),
            _ => None,
        });
        Some(records.iter().zip(requests).map(|(record, entry)| entry.of(record).wire.gaps).collect())
    }

    /// Counts a session that has ended or was cut short. It belongs to the same part of the stage as a request that was due with the session's first
    /// turn and ended with its last turn. `has_all` states whether the session has sent all its turns.
    pub fn record_session(&mut self, session: &SessionEnd, has_all: bool) {
        self.note(|| Event::Session { end: session.clone(), has_all });
        let Some((began, ended)) = session.began.zip(session.ended) else { return };
        let stage = session.stage;
        let (Some(Opened { window, start }), Some(of_stage), Some(tally)) =
            (self.windows.get(stage), self.stages.get(stage), self.sessions.get_mut(stage))
        else {
            return;
        };
        tally.begun += 1;
        if window.part_of(*start, session.number, began, ended) == WindowPart::Counted {
            tally.record_session(session, has_all, of_stage.window_bounds.map(|(_, close)| close));
        }
    }

    /// Counts how long a scheduled request was held back for the previous turn, if the request was due within the window.
    pub fn record_hold(&mut self, stage: usize, number: u64, due: Duration, held: Duration) {
        self.note(|| Event::Hold { stage, number, due, held });
        let (Some(Opened { window, start }), Some(tally)) = (self.windows.get(stage), self.sessions.get_mut(stage))
        else {
            return;
        };
        if window.part_of_unissued(number, Some(due.saturating_sub(*start))) == WindowPart::Counted {
            tally.hold.record(held);
        }
    }

    pub fn keep_output(&mut self, output: KeptOutput) {
        self.outputs.push(output);
    }

    /// Counts a probe in the stage that it accompanies.
    pub fn record_probe(&mut self, request: &RequestRecord, wire: &WireTally) {
        if let Some(tally) = self.probes.get_mut(request.stage as usize) {
            tally.record(request, wire, true);
        }
    }

    /// Counts requests of a stage that were never sent. Each has its number and, if known, its due time from the start of the stage. They
    /// count as cancelled or incomplete, and have no times and no record. Requests of warm-up and cool-down are excluded.
    pub fn count_unissued(
        &mut self,
        stage: usize,
        unissued: impl IntoIterator<Item = (u64, Option<Duration>)>,
        outcome: RequestOutcome,
    ) {
        let (Some(tally), Some(Opened { window, start })) = (self.stages.get_mut(stage), self.windows.get(stage))
        else {
            return;
        };
        for (number, due) in unissued {
            if let Some(tape) = &mut self.tape {
                tape.note(&Event::Unissued { stage, number, due, outcome });
            }
            if let Some((series, due)) = self.series.get_mut(stage).zip(due) {
                series.record_unissued(start.saturating_add(due));
            }
            match window.part_of_unissued(number, due) {
                WindowPart::Counted => *tally.outcomes.entry(outcome).or_default() += 1,
                part => tally.exclude(part, outcome, 1),
            }
        }
    }

    /// Returns the records if every request has one. Times and lengths are then computed from the records instead of the histograms.
    pub fn every_record(&self) -> Option<&Records> {
        self.records.as_ref().filter(|it| it.left_out() == 0)
    }

    /// Returns the number of values that the figures contain inexactly or not at all. It is 0 except for times above one hour, lengths above 100
    /// million tokens, more than four billion equal values, or a fault of the launcher. Histograms that no figure uses do not count.
    pub fn dropped(&self) -> u64 {
        let is_exact = self.every_record().is_some();
        let lost = |it: &StageTally| it.lost_gaps() + if is_exact { 0 } else { it.lost_of_requests() };
        self.strays + self.stages.iter().map(lost).sum::<u64>()
    }
}

#[cfg(test)]
mod tests;
