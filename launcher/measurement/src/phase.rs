//! Phases: stages whose queries are drawn before the load begins, and the reasons why phases end. Pure.

use std::{fmt::Debug, time::Duration};

use crate::{
    record::RequestRecord,
    schedule::Schedule,
    wire::{Reader, Wire, WireError, Writer, fields, variants},
};

/// The reason why a load ended before all its requests were issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The launcher received a signal to stop.
    Signal,
    /// The deadline of the run passed.
    Deadline,
    /// All requests had failed for too long.
    TargetLost,
    /// A stop rule of the workload ended the load.
    StopRule,
}

/// The reason why a phase issues no more queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseEnd {
    /// Enough queries were issued over a long enough time. If the phase just issues all its queries: all were issued.
    Natural,
    /// All drawn queries were issued, but the minimum number of queries or the minimum duration was not reached.
    RanOut,
    /// The maximum number of queries was reached.
    MaxQueryCount {
        /// Number of queries issued.
        issued: u64,
    },
    /// The maximum duration was reached.
    MaxDuration {
        /// Time from the start of the phase to the last query.
        elapsed: Duration,
    },
    /// There were more incomplete queries than the maximum.
    TooManyOutstanding {
        /// Number of queries issued.
        issued: u64,
        /// How many of them were incomplete.
        outstanding: u64,
    },
    /// The run was stopped.
    Stopped(StopReason),
}

/// The result of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuedPhase {
    /// When the phase began; `None` if it never began.
    pub began: Option<Duration>,
    /// The reason why the phase issued no more queries; `None` if it has no rules and issued all of them.
    pub end: Option<PhaseEnd>,
}

/// The queries of a stage, which are drawn before the load begins, and the rules that end the stage. A query consists of one or more
/// samples (rows of the data set) that are sent together. Request i of the stage sends sample i of the phase. The records of all requests
/// decide the result of a phase, so a load with a phase keeps all records.
///
/// The load calls these methods on its own threads, at most a few times per request. They must return quickly.
pub trait Phase: Debug + Send + Sync {
    /// Returns the number of queries, at least 1.
    fn query_count(&self) -> u64;

    /// Returns the number of samples per query, at least 1.
    fn samples_per_query(&self) -> u64;

    /// Returns the row of the data set that a request sends. Beyond the last request, returns the request number itself.
    fn row(&self, request: u64) -> u64;

    /// Returns the number of rows that the data set must have.
    fn row_count(&self) -> u64;

    /// Returns the maximum number of requests in flight, at least 1; `None` means no limit.
    fn max_concurrency(&self) -> Option<u32>;

    /// Returns the number of samples per request, at least 1, if the phase sends static batches; `None` means one request per sample.
    fn batch_size(&self) -> Option<u32>;

    /// Whether the output of a request must be kept.
    fn keeps_output(&self, request: u64) -> bool;

    /// Returns when the requests are due; `None` means that a query is due when the previous query is complete.
    fn schedule(&self) -> Option<Schedule>;

    /// Whether the phase has rules, so that it can end before all its queries are issued.
    fn has_rules(&self) -> bool;

    /// Whether rules can end the phase before its schedule ends.
    fn may_end_before_schedule(&self) -> bool;

    /// Returns how the phase ends if it ends after the query just issued. `issued` is the number of queries so far. `elapsed` is the time when that
    /// query was sent, from the start of the phase. `outstanding` returns the number of incomplete queries.
    fn after(&self, issued: u64, elapsed: Duration, outstanding: &dyn Fn() -> u64) -> Option<PhaseEnd>;

    /// Returns how the phase ends after all its queries are issued; `None` if it has no rules.
    fn at_the_end(&self) -> Option<PhaseEnd>;

    /// Counts a request that has ended. `began` is the time when the phase began.
    fn ended(&self, record: &RequestRecord, began: Duration);

    /// Returns the number of requests.
    fn request_count(&self) -> u64 {
        self.query_count().saturating_mul(self.samples_per_query())
    }
}

variants!(StopReason { Signal = 0, Deadline = 1, TargetLost = 2, StopRule = 3 });
fields!(IssuedPhase { began, end });

impl Wire for PhaseEnd {
    fn write(&self, to: &mut Writer) {
        match self {
            PhaseEnd::Natural => 0_u8.write(to),
            PhaseEnd::RanOut => 1_u8.write(to),
            PhaseEnd::MaxQueryCount { issued } => (2_u8, *issued).write(to),
            PhaseEnd::MaxDuration { elapsed } => (3_u8, *elapsed).write(to),
            PhaseEnd::TooManyOutstanding { issued, outstanding } => (4_u8, (*issued, *outstanding)).write(to),
            PhaseEnd::Stopped(reason) => (5_u8, *reason).write(to),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<PhaseEnd, WireError> {
        Ok(match u8::read(from)? {
            0 => PhaseEnd::Natural,
            1 => PhaseEnd::RanOut,
            2 => PhaseEnd::MaxQueryCount { issued: Wire::read(from)? },
            3 => PhaseEnd::MaxDuration { elapsed: Wire::read(from)? },
            4 => PhaseEnd::TooManyOutstanding { issued: Wire::read(from)?, outstanding: Wire::read(from)? },
            5 => PhaseEnd::Stopped(Wire::read(from)?),
            _ => return Err(WireError::Value { what: "end of a phase" }),
        })
    }
}
