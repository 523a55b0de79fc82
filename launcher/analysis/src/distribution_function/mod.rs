//! Distribution functions of the latencies of a stage or a run, as points that a chart can draw. Pure.

use std::time::Duration;

use measurement::{histogram::TimeHistogram, recorder::StageTally};

use super::{
    Uncertainty,
    distribution::{bins, rank},
    figures::LatencyOrigin,
    timings::headline,
    uncertainty::Latencies,
};

/// The shares of values, in thousandths, at which a function has a point: denser in the tails. The first one is the smallest value.
fn permilles() -> impl Iterator<Item = u64> {
    (0..10).chain((10..=990).step_by(10)).chain(991..=999)
}

/// Points of a distribution function. They come from a histogram, so that they take the same time and room for any number of values.
#[derive(Clone, Debug, PartialEq)]
pub struct DistributionFunction {
    /// Number of values.
    pub count: u64,
    /// Number of independent values that are worth as much; `None` where it is not known.
    pub effective_values: Option<f64>,
    /// The share of values at or below a time, and the time: the middle of a bin, at most 0.05 % from the true value. Both strictly rise.
    pub points: Vec<(f64, Duration)>,
}

impl DistributionFunction {
    /// `None` without values.
    fn new(times: &TimeHistogram, effective_values: Option<f64>) -> Option<DistributionFunction> {
        let (histogram, totals) = (times.histogram(), times.totals());
        let bins = bins(histogram, |value| histogram.median_equivalent(value));
        let count: u64 = bins.iter().map(|(_, count)| count).sum();
        if count == 0 {
            return None;
        }
        let mut ranks = permilles().map(|it| rank(count, it)).peekable();
        let (mut points, mut passed) = (Vec::new(), 0);
        for (middle, of_bin) in bins {
            passed += of_bin;
            let mut is_point = false;
            while ranks.next_if(|it| *it <= passed).is_some() {
                is_point = true;
            }
            if is_point {
                // The middle of the first bin may be below the smallest value, that of the last one above the largest.
                let time = middle.clamp(totals.min as f64, totals.max as f64);
                points.push((passed as f64 / count as f64, Duration::from_nanos(time.round() as u64)));
            }
        }
        Some(DistributionFunction { count, effective_values, points })
    }
}

/// The distribution functions of a stage or a run, of the same values as its figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DistributionFunctions {
    /// By the clock of each stage; `None` without streams.
    pub ttft: Option<DistributionFunction>,
    pub itl: Option<DistributionFunction>,
    pub tpot: Option<DistributionFunction>,
    /// By the clock of each stage.
    pub latency: Option<DistributionFunction>,
}

impl DistributionFunctions {
    /// Of all these stages together. `uncertainty`: what is known of just these values.
    pub(super) fn new<'a>(
        stages: impl Iterator<Item = (&'a StageTally, LatencyOrigin)>,
        streaming: bool,
        uncertainty: Option<&Uncertainty>,
    ) -> DistributionFunctions {
        let [mut ttft, mut itl, mut tpot, mut latency] = [(); 4].map(|()| TimeHistogram::default());
        for (tally, origin) in stages {
            let (of_ttft, of_latency) = headline(tally, origin);
            ttft.add(of_ttft);
            itl.add(&tally.itl);
            itl.add(&tally.itl_of_several);
            tpot.add(&tally.tpot);
            latency.add(of_latency);
        }
        let function = |times: &TimeHistogram, of: fn(&Uncertainty) -> Option<Latencies>| {
            let worth = uncertainty.and_then(of).map(|it| it.mean.effective_values);
            DistributionFunction::new(times, worth)
        };
        let streamed = |it: Option<DistributionFunction>| it.filter(|_| streaming);
        DistributionFunctions {
            ttft: streamed(function(&ttft, |it| it.ttft)),
            // The gaps of a request depend on each other, so that they are worth at least one value of their request: its TPOT.
            itl: streamed(function(&itl, |it| it.tpot)),
            tpot: streamed(function(&tpot, |it| it.tpot)),
            latency: function(&latency, |it| it.latency),
        }
    }
}

#[cfg(test)]
mod tests;
