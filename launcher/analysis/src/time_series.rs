//! The time series of a run or a stage.

use std::time::Duration;

use super::itl_heat::ItlHeat;
use measurement::recorder::{
    TimeSeries,
    series::{Bin, OutcomeGroup, QuantileSketch},
};

/// What happened over time, in bins of equal width. Includes every request of the load, even outside the measurement window.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesFigures {
    pub bin_width: Duration,
    /// The start of the first bin, from the start of the run. A multiple of the width.
    pub start: Duration,
    /// The time of the first event. It may lie inside the first bin, and the last event inside the last bin.
    pub first_event: Duration,
    pub last_event: Duration,
    pub bins: Vec<BinFigures>,
    /// How often each ITL occurred over time. `None` if there are no ITLs, or without streaming.
    pub itl_heat: Option<ItlHeat>,
}

/// What happened within one bin.
#[derive(Clone, Debug, PartialEq)]
pub struct BinFigures {
    /// Requests that were due, including requests that were never sent.
    pub due: u64,
    pub sent: u64,
    /// Requests that ended, per group in [`OutcomeGroup::ALL`].
    pub ended: [u64; OutcomeGroup::ALL.len()],
    /// Mean number of requests in flight.
    pub under_way: f64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// TTFT by the latency origin of the stage. `None` if there are no values, or without streaming.
    pub ttft: Option<BinTimes>,
    /// The ITLs. `None` if there are no values, or without streaming.
    pub itl: Option<BinTimes>,
    /// Latency by the latency origin of the stage.
    pub latency: Option<BinTimes>,
    pub send_lag: Option<BinTimes>,
}

/// Percentiles of the times in one bin, each within 1.6 % or 0.6 us of the true value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinTimes {
    pub count: u64,
    pub p50: Duration,
    pub p90: Duration,
    pub p99: Duration,
}

impl SeriesFigures {
    /// Computes the figures from a time series. `None` if there are no events.
    pub(super) fn new(series: &TimeSeries, streaming: bool) -> Option<SeriesFigures> {
        let (first_event, last_event) = series.extent()?;
        Some(SeriesFigures {
            bin_width: series.bin_width(),
            start: series.start(),
            first_event,
            last_event,
            bins: series.bins().map(|(bin, under_way)| BinFigures::new(bin, under_way, streaming)).collect(),
            itl_heat: ItlHeat::new(series).filter(|_| streaming),
        })
    }
}

impl BinFigures {
    fn new(bin: &Bin, under_way: f64, streaming: bool) -> BinFigures {
        BinFigures {
            due: bin.due,
            sent: bin.sent,
            ended: OutcomeGroup::ALL.map(|it| bin.ended(it)),
            under_way,
            input_tokens: bin.input_tokens,
            output_tokens: bin.output_tokens,
            ttft: BinTimes::new(&bin.ttft).filter(|_| streaming),
            itl: BinTimes::new(&bin.itl).filter(|_| streaming),
            latency: BinTimes::new(&bin.latency),
            send_lag: BinTimes::new(&bin.send_lag),
        }
    }
}

impl BinTimes {
    fn new(sketch: &QuantileSketch) -> Option<BinTimes> {
        // The cast cannot overflow, because a sketch holds no times above an hour.
        let percentile = |percent| sketch.percentile(percent).map(|it| Duration::from_nanos(it.round() as u64));
        Some(BinTimes { count: sketch.count(), p50: percentile(50)?, p90: percentile(90)?, p99: percentile(99)? })
    }
}
