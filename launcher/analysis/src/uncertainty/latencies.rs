//! Latencies of a stage in time order, and the uncertainty of their mean and percentiles.

use std::time::Duration;

use statistics::{Estimate, batch_means, bins, order_statistics};

use super::input::{Input, Series};
use crate::figures::LatencyOrigin;
use measurement::{record::RequestRecord, recorder::InFigures};

/// The percentiles that have an interval, under the names that reports use.
pub const PERCENTILES: [(&str, f64); 3] = [("p50", 0.50), ("p90", 0.90), ("p99", 0.99)];

/// The percentiles that are tracked over time.
const OVER_TIME: [f64; 2] = [0.50, 0.90];

/// A latency with at most one value per request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    Ttft,
    Tpot,
    Ntpot,
    Latency,
}

impl Figure {
    pub(super) const ALL: [Figure; 4] = [Figure::Ttft, Figure::Tpot, Figure::Ntpot, Figure::Latency];

    /// Reads the latency from a record; `None` if it was not measured. Without streaming, only [`Figure::Latency`] exists.
    fn value(self, record: &RequestRecord, origin: LatencyOrigin, streaming: bool) -> Option<Duration> {
        match self {
            Figure::Ttft => record.ttft(origin).filter(|_| streaming),
            Figure::Tpot => record.tpot().filter(|_| streaming),
            Figure::Ntpot => record.ntpot(),
            Figure::Latency => record.latency(origin),
        }
    }
}

/// The uncertainty of a latency. Estimates are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latencies {
    pub count: u64,
    pub mean: Estimate,
    /// The estimates for [`PERCENTILES`].
    pub percentiles: [Estimate; 3],
}

impl Latencies {
    /// Estimates the uncertainty. `values`: pairs (due time, latency in milliseconds) in time order. `None` if there are no values.
    pub(super) fn new(values: Vec<(f64, f64)>) -> Option<Latencies> {
        let values: Vec<f64> = values.into_iter().map(|(_, value)| value).collect();
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let mean = batch_means::mean_with_interval(&values)?;
        let worth = mean.effective_values;
        let [p50, p90, p99] = PERCENTILES.map(|(_, p)| order_statistics::quantile(&values, &sorted, p, worth));
        Some(Latencies { count: values.len() as u64, mean, percentiles: [p50?, p90?, p99?] })
    }
}

/// One latency of a stage: estimates for the whole stage, and values over time.
#[derive(Debug, Default)]
pub(super) struct OfFigure {
    pub(super) estimates: Option<Latencies>,
    /// p50 and p90 per time bin; empty if there are too few values.
    pub(super) over_time: [Series; 2],
}

impl OfFigure {
    pub(super) fn new(values: Vec<(f64, f64)>) -> OfFigure {
        let bins = bins::number(values.len()).unwrap_or(0);
        let over_time = bins::quantiles(&values, bins, OVER_TIME);
        OfFigure { estimates: Latencies::new(values), over_time }
    }
}

/// Returns pairs (due time in seconds, latency in milliseconds) for each stage, sorted by due time. Includes requests that the figures of their stage
/// include and that were due at `from` or later. `from` has one time per stage, in seconds.
pub(super) fn values(input: &Input<'_>, figure: Figure, from: &[f64]) -> Vec<Vec<(f64, f64)>> {
    let wanted = |(record, used): (&RequestRecord, InFigures)| {
        let stage = record.stage as usize;
        let (origin, due) = (*input.origins.get(stage)?, input.due(record)?);
        let is_wanted = used.answer && from.get(stage).is_some_and(|from| due >= *from);
        let value = figure.value(record, origin, input.streaming).filter(|_| is_wanted)?;
        Some((stage, (due, value.as_secs_f64() * 1e3)))
    };
    // Counts the values first, so that each vector is allocated once.
    let mut counts = vec![0; from.len()];
    input.records.with_figures().filter_map(wanted).for_each(|(stage, _)| counts[stage] += 1);
    let mut stages: Vec<Vec<(f64, f64)>> = counts.into_iter().map(Vec::with_capacity).collect();
    input.records.with_figures().filter_map(wanted).for_each(|(stage, value)| stages[stage].push(value));
    for values in &mut stages {
        values.sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
    }
    stages
}
