//! Recomputes the figures of a load with other windows, from its records and its tape (what each recorder was given in addition). Pure.
//!
//! Series, sample, probes and outputs do not depend on windows, and are kept. Stages whose margins did not change are recomputed too.
//! Without times between tokens, no stage then has ITL, so that the run's ITL never covers only some of its stages.

use workload_profiles::workload::Stage;

use super::{
    Recorder, Records, RequestSample, SessionTally, StageTally,
    tape::{Entry, Event, Tape},
};
use crate::{
    record::RequestRecord,
    window::{MarginError, Opened, StageWindow},
    wire::WireError,
};

/// The reason why figures cannot be recomputed with other windows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RewindowError {
    #[error("the run kept no record of its requests")]
    NoRecords,
    #[error("the run kept only the first {kept} of {requests} requests to end, because the memory for records ran out")]
    LeftOut { kept: u64, requests: u64 },
    #[error("the run did not keep all that it needs beside its records, because the memory for records ran out")]
    Lost,
    #[error(
        "stage {stage} counts what arrived within its window, and the run kept no times between tokens; set \
         spec.storage.perRequestRecords: FullWithTokenTimes before the run"
    )]
    NoTokenTimes { stage: String },
    #[error("stage {stage}: {source}")]
    Margins { stage: String, source: MarginError },
    #[error(transparent)]
    Tape(#[from] WireError),
}

impl Recorder {
    /// Returns the same load, with figures recomputed for other margins. `before`: the stages as they were run. `after` are the same stages with
    /// other margins. If the run kept no times between tokens, ITL and step durations are missing in every stage.
    ///
    /// # Errors
    /// Data that the figures need is missing, or a stage cannot have its new margins after the run.
    pub fn with_margins(mut self, before: &[Stage], after: &[Stage]) -> Result<Recorder, RewindowError> {
        let changed = Changed { before, after };
        if !changed.any() {
            return Ok(self);
        }
        self.check(&changed)?;
        let counted = self.count_again(&changed)?;
        let (series, sample) = (self.series, self.sample);
        Ok(Recorder { series, sample, probes: self.probes, outputs: self.outputs, ..counted })
    }

    /// Checks that all necessary data was kept.
    fn check(&self, changed: &Changed<'_>) -> Result<(), RewindowError> {
        let (Some(records), Some(tape)) = (&self.records, &self.tape) else { return Err(RewindowError::NoRecords) };
        if records.left_out() > 0 {
            let kept = records.len() as u64;
            return Err(RewindowError::LeftOut { kept, requests: kept.saturating_add(records.left_out()) });
        }
        if !tape.is_whole() {
            return Err(RewindowError::Lost);
        }
        let counts_tokens =
            |(index, _): &(usize, &Stage)| self.windows.get(*index).is_some_and(|it| it.window.counts_arrivals());
        match changed.after.iter().enumerate().find(counts_tokens) {
            Some((_, stage)) if !tape.has_token_times() => {
                Err(RewindowError::NoTokenTimes { stage: stage.name.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Counts all requests again, in a new recorder. Takes the records out of `self`, so that no block of them is in memory twice.
    fn count_again(&mut self, changed: &Changed<'_>) -> Result<Recorder, RewindowError> {
        let (Some(records), Some(tape)) = (self.records.take(), self.tape.take()) else {
            return Err(RewindowError::NoRecords);
        };
        let mut records = records.into_iter();
        let mut sum = self.blank(changed, &tape);
        for entries in tape.recorders() {
            let mut one = self.blank(changed, &tape);
            for entry in entries {
                one.tell(entry?, &mut records, changed)?;
            }
            sum.add(one);
        }
        match records.next() {
            None => Ok(sum),
            Some(_) => Err(WireError::Value { what: "number of entries" }.into()),
        }
    }

    /// Creates an empty recorder, without the parts that do not change.
    fn blank(&self, changed: &Changed<'_>, tape: &Tape) -> Recorder {
        // If the window cannot be changed, the stage never began, and so it has no figures.
        let window = |(stage, it): (usize, &Opened)| Opened {
            window: changed.window(stage, it.window).unwrap_or(it.window),
            ..*it
        };
        Recorder {
            stages: self.stages.iter().map(|_| StageTally::default()).collect(),
            records: Some(Records::default()),
            strays: 0,
            tape: Some(Tape::new(tape.has_token_times())),
            outputs: Vec::new(),
            classes: self.classes.iter().map(|_| StageTally::default()).collect(),
            probes: Vec::new(),
            sessions: self.sessions.iter().map(|_| SessionTally::default()).collect(),
            series: Vec::new(),
            sample: RequestSample::default(),
            windows: self.windows.iter().enumerate().map(window).collect(),
            goodput: self.goodput.clone(),
        }
    }

    fn tell(
        &mut self,
        entry: Entry,
        records: &mut impl Iterator<Item = RequestRecord>,
        changed: &Changed<'_>,
    ) -> Result<(), RewindowError> {
        match entry {
            Entry::Request(entry) => {
                let record = records.next().ok_or(WireError::Value { what: "number of entries" })?;
                let beside = entry.of(&record);
                self.count(record, &beside.wire, beside.is_good);
            }
            Entry::Event(Event::Open { stage, opened: Opened { window, start } }) => {
                self.open(stage, changed.window(stage, window)?, start);
            }
            Entry::Event(Event::StopEarly { stage, now, later }) => self.stop_early(stage, now, later),
            Entry::Event(Event::Session { end, has_all }) => self.record_session(&end, has_all),
            Entry::Event(Event::Hold { stage, number, due, held }) => self.record_hold(stage, number, due, held),
            Entry::Event(Event::Unissued { stage, number, due, outcome }) => {
                self.count_unissued(stage, [(number, due)], outcome);
            }
        }
        Ok(())
    }
}

/// The stages of a load before and after their margins changed.
struct Changed<'a> {
    before: &'a [Stage],
    after: &'a [Stage],
}

impl Changed<'_> {
    fn any(&self) -> bool {
        (0..self.after.len()).any(|it| self.is(it))
    }

    fn is(&self, stage: usize) -> bool {
        let margins = |of: &[Stage]| of.get(stage).map(|it| (it.warm_up, it.cool_down));
        margins(self.before) != margins(self.after)
    }

    /// Returns the new window of a stage, given its previous window.
    fn window(&self, stage: usize, window: StageWindow) -> Result<StageWindow, RewindowError> {
        match self.after.get(stage).filter(|_| self.is(stage)) {
            None => Ok(window),
            Some(after) => window
                .with_margins(after)
                .map_err(|source| RewindowError::Margins { stage: after.name.clone(), source }),
        }
    }
}

#[cfg(test)]
mod tests;
