//! The measurement of a load, with all decisions of the engine while it ran. Pure.

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

/// Decisions of the engine about a stage while the load ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StageResult {
    /// The rate that earlier stages determined, or why the stage was not run. `None` if its rate was known before the run, and for a stage
    /// that was never reached.
    pub measured_rate: Option<Result<RequestRate, NotMeasured>>,
    /// The stop rule that ended it.
    pub ended_by: Option<RuleEnd>,
}

/// The result of a load.
#[derive(Debug)]
pub struct LoadResult {
    /// Counts, histograms and records.
    pub recorder: Recorder,
    /// Time zero of all times in the result, on the machine's monotonic clock.
    pub zero: Duration,
    /// Time of day at time zero.
    pub started: jiff::Timestamp,
    /// The phases, one entry per stage; `None` for a stage that is not a phase.
    pub phases: Vec<Option<IssuedPhase>>,
    /// One entry per stage.
    pub stages: Vec<StageResult>,
    /// Why the load ended early; `None` if it did not.
    pub stopped: Option<StopReason>,
    /// Requests that were due when the load was stopped, but were never sent. They also count as cancelled, in the figures or among the
    /// excluded requests. Requests that were due later are not counted.
    pub unissued: u64,
    /// Requests that were issued.
    pub issued: u64,
    /// How the rows of the data set were used; `None` for another source of requests.
    pub rows: Option<RowsUsed>,
    /// CPU time of the workers.
    pub own_cpu: Duration,
    /// CPU time and receive delays of each worker, by stage.
    pub workers: Vec<WorkerVitals>,
    /// How the machine affected the process during the load.
    pub vitals: Vitals,
    /// From time zero to the end of the last request.
    pub wall: Duration,
    /// Facts that are known only after the load: which stages ended with the rows of the data set, and how many rows or sessions were sent
    /// more than once.
    pub notices: Vec<Notice>,
}

/// Why a rate is not known, and its stage not run.
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

/// The rule that ended a stage, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleEnd {
    /// Index of the rule in the workload.
    pub rule: u32,
    /// When the request ended that fulfilled the rule, on the clock of the run.
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
