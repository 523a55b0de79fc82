//! Gathers what happened to each request: counts and histograms for each stage, and a compact record for each request
//! where the run asks for them.
//!
//! Each issuing thread has a recorder of its own; they are merged at the end, losslessly. Without records, memory does not
//! grow with the number of requests.

mod records;
mod tally;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use workload_profiles::workload::Goodput;

use crate::{
    client::output::Output,
    inter_token_times::InterTokenTimes,
    record::{RequestOutcome, RequestRecord},
    window::{StageWindow, WindowPart},
};

pub use records::{InFigures, RecordBudget, Records};
pub use tally::{CauseTally, SetAside, StageTally, WireTally};

/// What is kept of each request beside counts and histograms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Keep {
    /// Nothing: memory does not grow with the number of requests.
    #[default]
    Summary,
    /// A record of each request.
    Records,
    /// A record of each request, and its gaps between content events.
    RecordsAndGaps,
}

/// What a request generated that was to keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOutput {
    /// Index of its stage in the workload.
    pub stage: u32,
    /// Its number in the stage.
    pub number: u64,
    /// When it was over, on the clock of the run.
    pub ended: Duration,
    /// What it generated.
    pub output: Output,
}

/// The recorder of one thread.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    /// One tally per stage of the workload.
    pub stages: Vec<StageTally>,
    /// One record per request that was started, in the order of their ends; `None` where the run does not ask for records.
    pub records: Option<Records>,
    /// Requests of a stage that there is not.
    strays: u64,
    /// The gaps between content events of each record, in the same order; `None` where nobody asks for them.
    pub gaps: Option<Vec<InterTokenTimes>>,
    /// The outputs of requests that were to keep them and ended well, in the order of their ends. The load chooses which, and
    /// each has a bound of its own.
    pub outputs: Vec<KeptOutput>,
    /// What the probes beside each stage came to; empty where the workload has none.
    pub probes: Vec<StageTally>,
    windows: Vec<Opened>,
    goodput: Goodput,
}

/// The window of a stage, and when the stage began.
#[derive(Clone, Copy, Debug, Default)]
struct Opened {
    window: StageWindow,
    start: Duration,
}

impl Recorder {
    /// A recorder for a workload of so many stages.
    pub fn new(stages: usize, goodput: Goodput, keep: Keep) -> Self {
        // Not clones of one: histograms that are made anew take no memory before they count something.
        let tallies = (0..stages).map(|_| StageTally::default()).collect();
        Recorder {
            stages: tallies,
            records: (keep != Keep::Summary).then(Records::default),
            gaps: (keep == Keep::RecordsAndGaps).then(Vec::new),
            strays: 0,
            outputs: Vec::new(),
            probes: Vec::new(),
            windows: vec![Opened::default(); stages],
            goodput,
        }
    }

    /// The same with windows, one for each stage; without them every request is in the figures.
    pub fn with_windows(mut self, windows: impl IntoIterator<Item = StageWindow>) -> Self {
        for (mine, window) in self.windows.iter_mut().zip(windows) {
            mine.window = window;
        }
        self
    }

    /// The same with a bound on records, if it keeps any.
    pub fn with_record_budget(mut self, budget: RecordBudget) -> Self {
        self.records = self.records.map(|_| Records::new(budget));
        self
    }

    /// The same with tallies for probes.
    pub fn with_probes(mut self) -> Self {
        self.probes = self.stages.iter().map(|_| StageTally::default()).collect();
        self
    }

    /// A stage begins.
    pub fn open(&mut self, stage: usize, start: Duration) {
        let (Some(opened), Some(tally)) = (self.windows.get_mut(stage), self.stages.get_mut(stage)) else { return };
        opened.start = start;
        tally.window_bounds = opened.window.bounds(start).filter(|_| !opened.window.is_empty());
    }

    /// A stage was stopped: its window ends here, if not before. `later`: requests would have been due later.
    pub fn stop_early(&mut self, stage: usize, now: Duration, later: bool) {
        let Some(tally) = self.stages.get_mut(stage) else { return };
        tally.stopped_early |= later;
        // A window that had not begun measures nothing.
        tally.window_bounds =
            tally.window_bounds.filter(|(open, _)| *open < now).map(|(open, close)| (open, close.min(now)));
    }

    /// Counts one request, where it belongs.
    pub fn record(&mut self, request: RequestRecord, wire: &WireTally) {
        let stage = request.stage as usize;
        let in_figures = match (self.stages.get_mut(stage), self.windows.get(stage)) {
            (Some(tally), Some(Opened { window, start })) => match (window.part(*start, &request), tally.window_bounds)
            {
                (WindowPart::Counted, None) => tally.record(&request, wire, &self.goodput),
                (WindowPart::Counted, Some(bounds)) => tally.record_within(bounds, &request, wire, &self.goodput),
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
        let kept = self.records.as_mut().is_some_and(|records| records.push(request, in_figures));
        if let Some(gaps) = self.gaps.as_mut().filter(|_| kept) {
            gaps.push(wire.gaps.clone());
        }
    }

    /// Keeps the output of a request that has ended well.
    pub fn keep_output(&mut self, output: KeptOutput) {
        self.outputs.push(output);
    }

    /// Counts one probe beside the stage that it names.
    pub fn record_probe(&mut self, request: &RequestRecord, wire: &WireTally) {
        if let Some(tally) = self.probes.get_mut(request.stage as usize) {
            tally.record(request, wire, &Goodput::default());
        }
    }

    /// Counts requests of a stage that were never sent, each by its number and by when it was due after the start of the
    /// stage, where that is known: they are cancelled or incomplete, have no times and leave no record. Those of the warm-up
    /// and the cool-down are counted aside.
    pub fn count_unissued(
        &mut self,
        stage: usize,
        unissued: impl IntoIterator<Item = (u64, Option<Duration>)>,
        outcome: RequestOutcome,
    ) {
        let (Some(tally), Some(Opened { window, .. })) = (self.stages.get_mut(stage), self.windows.get(stage)) else {
            return;
        };
        for (number, due) in unissued {
            match window.part_of_unissued(number, due) {
                WindowPart::Counted => *tally.outcomes.entry(outcome).or_default() += 1,
                part => tally.exclude(part, outcome, 1),
            }
        }
    }

    /// The records, where every request has one: times and lengths of requests are then computed from them, and not from
    /// histograms.
    pub fn every_record(&self) -> Option<&Records> {
        self.records.as_ref().filter(|it| it.left_out() == 0)
    }

    /// What it could not keep: values that are not in the figures as they were measured. Always 0 but for times above an
    /// hour, lengths above 100 million tokens, four billion equal values, and a fault of the launcher. Histograms that no
    /// figure comes from lose nothing.
    pub fn dropped(&self) -> u64 {
        let is_exact = self.every_record().is_some();
        let lost = |it: &StageTally| it.lost_gaps() + if is_exact { 0 } else { it.lost_of_requests() };
        self.strays + self.stages.iter().map(lost).sum::<u64>()
    }

    /// Adds what another thread recorded of the same workload.
    pub fn add(&mut self, other: Recorder) {
        for (mine, theirs) in self.stages.iter_mut().zip(&other.stages) {
            mine.add(theirs);
        }
        self.strays += other.strays;
        for (mine, theirs) in self.probes.iter_mut().zip(&other.probes) {
            mine.add(theirs);
        }
        self.outputs.extend(other.outputs);
        // Two runs in order, nearly always: the sort merges them.
        self.outputs.sort_by_key(|it| it.ended);
        if let (Some(mine), Some(theirs)) = (&mut self.records, other.records) {
            mine.append(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.gaps, other.gaps) {
            mine.extend(theirs);
        }
    }
}

#[cfg(test)]
mod tests;
