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

/// The shares, in thousandths, at which a distribution function has a point. Points are denser in the tails. Share 0 stands for the smallest value.
fn permilles() -> impl Iterator<Item = u64> {
    (0..10).chain((10..=990).step_by(10)).chain(991..=999)
}

/// Points of a distribution function. They come from a histogram, so time and memory do not depend on the number of values.
#[derive(Clone, Debug, PartialEq)]
pub struct DistributionFunction {
    /// Number of values.
    pub count: u64,
    /// Number of independent values that would carry as much information as these; `None` if unknown.
    pub effective_values: Option<f64>,
    /// Pairs (share, time): `share` of the values are at or below `time`. The time is the middle of a histogram bin, at most 0.05 % from the true
    /// value. Shares and times both strictly increase.
    pub points: Vec<(f64, Duration)>,
}

impl DistributionFunction {
    /// Reads the points from a histogram. `None` if the histogram has no values.
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
                // The middle of the first bin can be below the smallest value, and the middle of the last bin above the largest.
                let time = middle.clamp(totals.min as f64, totals.max as f64);
                points.push((passed as f64 / count as f64, Duration::from_nanos(time.round() as u64)));
            }
        }
        Some(DistributionFunction { count, effective_values, points })
    }
}

/// The distribution functions of a stage or a run, from the same values as its figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DistributionFunctions {
    /// Counts from the latency origin of each stage (scheduled or sent); `None` without streaming.
    pub ttft: Option<DistributionFunction>,
    pub itl: Option<DistributionFunction>,
    pub tpot: Option<DistributionFunction>,
    /// Counts from the latency origin of each stage.
    pub latency: Option<DistributionFunction>,
}

impl DistributionFunctions {
    /// The distribution functions of all these stages together. `uncertainty` must be estimated from the same values.
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
            // The gaps within a request depend on each other, so their number says little. TPOT has one value per request, and its effective number
            // is used here.
            itl: streamed(function(&itl, |it| it.tpot)),
            tpot: streamed(function(&tpot, |it| it.tpot)),
            latency: function(&latency, |it| it.latency),
        }
    }
}

#[cfg(test)]
mod tests;
