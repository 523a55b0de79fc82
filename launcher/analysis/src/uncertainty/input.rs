//! The input of the uncertainty estimates: the records, and types for parts of a stage.

use std::time::Duration;

use measurement::{
    record::RequestRecord,
    recorder::{Records, StageTally, TimeSeries},
};
use statistics::bins::Point;

use crate::{figures::LatencyOrigin, rates::RateWindow};

/// The values of a figure over time.
pub(super) type Series = Vec<Point>;

/// A part of a stage, in seconds from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) open: f64,
    pub(super) close: f64,
}

/// The records, and what is needed to interpret them.
pub(super) struct Input<'a> {
    pub(super) records: &'a Records,
    pub(super) tallies: &'a [StageTally],
    pub(super) series: &'a [TimeSeries],
    /// The rate window of each stage, between fill and drain; `None` if the stage's rates cover the whole stage.
    pub(super) windows: Vec<Option<RateWindow>>,
    /// The correction factor for the work of each stage, see `scales` in the module `rates`.
    pub(super) scales: &'a [f64],
    pub(super) origins: Vec<LatencyOrigin>,
    pub(super) streaming: bool,
    /// Whether the workload sets goodput bounds for requests.
    pub(super) has_goals: bool,
}

impl Input<'_> {
    /// Due time of a request in seconds, by the latency origin of its stage; `None` if the stage is unknown.
    pub(super) fn due(&self, record: &RequestRecord) -> Option<f64> {
        let origin = self.origins.get(record.stage as usize)?;
        Some(record.start(*origin).as_secs_f64())
    }
}

pub(super) fn span(of: Option<(Duration, Duration)>) -> Option<Span> {
    of.map(|(open, close)| Span { open: open.as_secs_f64(), close: close.as_secs_f64() })
}
