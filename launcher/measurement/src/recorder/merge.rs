//! Merges the results of recorders for the same workload.

use super::{Recorder, Tape};

/// The reason why two recorders cannot be merged: they belong to different workloads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error(
        "one measurement has {mine} {what}, and the other one has {theirs}; merge measurements of the same workload"
    )]
    Count { what: &'static str, mine: usize, theirs: usize },
    #[error("only one of the measurements keeps {what}; merge measurements of the same workload")]
    Keep { what: &'static str },
    #[error("the measurements have different goodput bounds; merge measurements of the same workload")]
    Goodput,
    #[error("the latencies of a stage count from different times; merge measurements of the same workload")]
    LatencyOrigin,
}

impl Recorder {
    /// Merges the results of another process for the same workload. Times must be on the same clock.
    ///
    /// # Errors
    /// The other recorder belongs to another workload. Nothing is merged.
    pub fn merge(&mut self, other: Recorder) -> Result<(), MergeError> {
        for (what, mine, theirs) in [
            ("stages", self.stages.len(), other.stages.len()),
            ("traffic classes", self.classes.len(), other.classes.len()),
            ("stages with probes", self.probes.len(), other.probes.len()),
            ("stages with sessions", self.sessions.len(), other.sessions.len()),
        ] {
            if mine != theirs {
                return Err(MergeError::Count { what, mine, theirs });
            }
        }
        for (what, mine, theirs) in [
            ("records", self.records.is_some(), other.records.is_some()),
            ("the times between tokens", self.has_token_times(), other.has_token_times()),
        ] {
            if mine != theirs {
                return Err(MergeError::Keep { what });
            }
        }
        if self.goodput != other.goodput {
            return Err(MergeError::Goodput);
        }
        if self.series.iter().zip(&other.series).any(|(mine, theirs)| mine.latency_origin() != theirs.latency_origin())
        {
            return Err(MergeError::LatencyOrigin);
        }
        self.add(other);
        Ok(())
    }

    fn has_token_times(&self) -> bool {
        self.tape.as_ref().is_some_and(Tape::has_token_times)
    }

    /// Merges the results of another worker for the same plan.
    pub fn add(&mut self, other: Recorder) {
        for (mine, theirs) in self.stages.iter_mut().zip(&other.stages) {
            mine.add(theirs);
        }
        self.strays += other.strays;
        for (mine, theirs) in self.classes.iter_mut().zip(&other.classes) {
            mine.add(theirs);
        }
        for (mine, theirs) in self.probes.iter_mut().zip(&other.probes) {
            mine.add(theirs);
        }
        for (mine, theirs) in self.sessions.iter_mut().zip(&other.sessions) {
            mine.add(theirs);
        }
        for (mine, theirs) in self.series.iter_mut().zip(&other.series) {
            mine.add(theirs);
        }
        self.sample.add(&other.sample);
        self.outputs.extend(other.outputs);
        // The list nearly always consists of two sorted parts, which the sort just merges.
        self.outputs.sort_by_key(|it| (it.ended, it.stage, it.number));
        if let (Some(mine), Some(theirs)) = (&mut self.records, other.records) {
            mine.append(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.tape, other.tape) {
            mine.append(theirs);
        }
    }
}
