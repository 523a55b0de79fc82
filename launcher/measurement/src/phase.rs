//! Phases: stages with queries that are drawn before the load begins, and the reasons why phases end. Pure.

use std::{fmt::Debug, time::Duration};

use crate::{
    record::RequestRecord,
    schedule::Schedule,
    wire::{Reader, Wire, WireError, Writer, fields, variants},
};

/// Why a load ends before all its requests were issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The launcher received a signal to end.
    Signal,
    /// The deadline of the run passed.
    Deadline,
    /// Every request failed for too long.
    TargetLost,
    /// A stop rule of the workload ended the load.
    StopRule,
}

/// Why a phase issues no more queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseEnd {
    /// Enough queries were issued for long enough, or all queries were issued if that suffices.
    Natural,
    /// All drawn queries are issued, and the minimum query count or duration is not reached.
    RanOut,
    /// The phase has a maximum number of queries.
    MaxQueryCount {
        /// Queries issued so far.
        issued: u64,
    },
    /// The phase has a maximum duration.
    MaxDuration {
        /// From the start of the phase to the last query.
        elapsed: Duration,
    },
    /// The phase has a maximum number of incomplete queries.
    TooManyOutstanding {
        /// Queries issued so far.
        issued: u64,
        /// The number of incomplete queries among them.
        outstanding: u64,
    },
    /// The run was stopped.
    Stopped(StopReason),
}

/// A phase that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuedPhase {
    /// When it began; `None` if it never did.
    pub began: Option<Duration>,
    /// Why it issued no more queries; `None` for a phase without rules that issued all of them.
    pub end: Option<PhaseEnd>,
}

/// The queries of a stage, drawn before the load begins, and the rules that end it. A query has one or more samples: rows of the data set
/// that are sent together. Request i of the stage sends sample i of the phase. The records of all requests decide the result of a phase, so a
/// load with a phase keeps all of them.
///
/// The load calls these methods on its threads, at most a few times per request. They must return immediately.
pub trait Phase: Debug + Send + Sync {
    /// Number of queries, at least 1.
    fn query_count(&self) -> u64;

    /// Samples of each query, at least 1.
    fn samples_per_query(&self) -> u64;

    /// The row of the data set that a request sends. Past the last request the row is the number itself.
    fn row(&self, request: u64) -> u64;

    /// Rows that the data set must have.
    fn row_count(&self) -> u64;

    /// Maximum requests in flight, at least 1; `None`: no bound.
    fn max_concurrency(&self) -> Option<u32>;

    /// Samples per request, at least 1, for a phase that sends static batches; `None`: one request per sample.
    fn batch_size(&self) -> Option<u32>;

    /// Whether the output of a request is kept.
    fn keeps_output(&self, request: u64) -> bool;

    /// When the requests are due; `None`: a query is due when the previous query is complete.
    fn schedule(&self) -> Option<Schedule>;

    /// Whether the phase has rules, so that it may end before all its queries are issued.
    fn has_rules(&self) -> bool;

    /// Whether rules may end the phase before the end of its schedule.
    fn may_end_before_schedule(&self) -> bool;

    /// Whether the phase ends after the last issued query. `issued`: number of queries so far. `elapsed`: when the last query left, from the
    /// start of the phase. `outstanding` returns the number of incomplete queries.
    fn after(&self, issued: u64, elapsed: Duration, outstanding: &dyn Fn() -> u64) -> Option<PhaseEnd>;

    /// Why the phase ends when all its queries are issued; `None`: it has no rules.
    fn at_the_end(&self) -> Option<PhaseEnd>;

    /// Counts a request that has ended. `began`: when the phase began.
    fn ended(&self, record: &RequestRecord, began: Duration);

    /// Number of requests.
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
