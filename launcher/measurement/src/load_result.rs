//! The measurement of a load, and the engine's decisions during the load. Pure.

use std::time::Duration;

use crds::units::RequestRate;
use workload_profiles::Notice;

use crate::{
    phase::{IssuedPhase, StopReason},
    recorder::Recorder,
    rows_used::RowsUsed,
    vitals::{Vitals, worker::WorkerVitals},
    wire::{Reader, Wire, WireError, Writer, fields, form},
};

/// The engine's decisions about a stage during the load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StageResult {
    /// The rate that earlier stages determined, or why the stage was skipped. `None` if the rate was known before the run, or if the stage
    /// was never reached.
    pub measured_rate: Option<Result<RequestRate, NotMeasured>>,
    /// The stop rule that ended the stage; `None` if no rule did.
    pub ended_by: Option<RuleEnd>,
}

/// The result of a load.
#[derive(Debug)]
pub struct LoadResult {
    /// Counts, histograms and records.
    pub recorder: Recorder,
    /// Time zero of all times in this result, on the machine's monotonic clock.
    pub zero: Duration,
    /// Wall-clock time at time zero.
    pub started: jiff::Timestamp,
    /// The results of LoadGen phases, one entry per stage; `None` for a stage that is not a phase.
    pub phases: Vec<Option<IssuedPhase>>,
    /// The engine's decisions, one entry per stage.
    pub stages: Vec<StageResult>,
    /// The reason why the load ended early; `None` if it did not.
    pub stopped: Option<StopReason>,
    /// Number of requests that were due when the load was stopped but were never sent. They also count as cancelled, in the figures or
    /// among the excluded requests. Requests due later are not counted.
    pub unissued: u64,
    /// Number of requests issued.
    pub issued: u64,
    /// How the rows of the data set were used; `None` if the requests have another source.
    pub rows: Option<RowsUsed>,
    /// CPU time of the worker threads.
    pub own_cpu: Duration,
    /// CPU time and receive delays of each worker, per stage.
    pub workers: Vec<WorkerVitals>,
    /// How the machine affected the process during the load.
    pub vitals: Vitals,
    /// Time from time zero to the end of the last request.
    pub wall: Duration,
    /// Notices that are known only after the load: which stages ended with the rows of the data set, and how many rows or sessions were
    /// sent more than once.
    pub notices: Vec<Notice>,
}

impl LoadResult {
    /// Removes all stages after the first `count`. No request may belong to them.
    pub fn keep_stages(&mut self, count: usize) {
        self.recorder.keep_stages(count);
        self.phases.truncate(count);
        self.stages.truncate(count);
        self.workers.iter_mut().for_each(|it| it.stages.truncate(count));
    }
}

/// The reason why a rate is not known, and its stage not run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotMeasured {
    #[error("its rate comes from stage {stage}, which was not run before it; see why")]
    NotRun { stage: String },
    #[error("its rate comes from the throughput of stage {stage}, of which no request succeeded; see why they failed")]
    NoSuccess { stage: String },
    #[error(
        "its rate comes from how fast the requests of stage {stage} ended while more were in flight than the server could take. Their \
         number was read every 0.5 s; it was smaller than at the reading before {falls} times, and 2 are needed: the stage was too short, \
         or the server was never full; send more requests in that stage"
    )]
    TooFewFalls { stage: String, falls: usize },
    #[error(
        "earlier stages give it a rate of {rate} per second, and a rate is above 0 and at most {}",
        RequestRate::MAX
    )]
    OutOfRange { rate: f64 },
}

/// The stop rule that ended a stage, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleEnd {
    /// Index of the rule in the workload.
    pub rule: u32,
    /// When the request that fulfilled the rule ended, on the run's clock.
    pub at: Duration,
}

fields!(RuleEnd { rule, at });
fields!(StageResult { measured_rate, ended_by });
fields!(LoadResult {
    recorder,
    zero,
    started,
    phases,
    stages,
    stopped,
    unissued,
    issued,
    rows,
    own_cpu,
    workers,
    vitals,
    wall,
    notices,
});
form!(LoadResult = 4, "load");

impl Wire for NotMeasured {
    fn write(&self, to: &mut Writer) {
        match self {
            NotMeasured::NotRun { stage } => {
                0_u8.write(to);
                stage.write(to);
            }
            NotMeasured::NoSuccess { stage } => {
                1_u8.write(to);
                stage.write(to);
            }
            NotMeasured::TooFewFalls { stage, falls } => {
                2_u8.write(to);
                stage.write(to);
                falls.write(to);
            }
            NotMeasured::OutOfRange { rate } => {
                3_u8.write(to);
                rate.write(to);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<NotMeasured, WireError> {
        Ok(match u8::read(from)? {
            0 => NotMeasured::NotRun { stage: Wire::read(from)? },
            1 => NotMeasured::NoSuccess { stage: Wire::read(from)? },
            2 => NotMeasured::TooFewFalls { stage: Wire::read(from)?, falls: Wire::read(from)? },
            3 => NotMeasured::OutOfRange { rate: Wire::read(from)? },
            _ => return Err(WireError::Value { what: "reason" }),
        })
    }
}
