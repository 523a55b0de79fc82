//! A figure of a stage as a report has it: its value and, where there is one, its interval.

use ::document::{
    EstimateDocument, FiguresDocument, HardwareDocument, InteractivityDocument, LatenciesDocument, StageDocument,
};
use crds::benchmark_run::{Metric, Stat};
use statistics::{
    Interval,
    difference::{Estimated, Method},
    enough,
};

use crate::figure::{Figure, Interactivity};

/// A value, and how sure it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) value: f64,
    /// The estimate with its interval of 95 %, or why there is none.
    pub(crate) estimate: Result<Estimated, String>,
}

/// Where the figures of a stage are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) stage: &'a StageDocument,
    pub(crate) hardware: Option<&'a HardwareDocument>,
}

impl Source<'_> {
    /// `None` where it was not measured. A value that is no number counts as not measured.
    ///
    /// Where `uncertainty` has the figure, its value is that: the interval belongs to it.
    pub(crate) fn read(&self, figure: Figure) -> Option<Reading> {
        match figure {
            Figure::OfMetric(metric, Some(stat)) => self.time(metric, stat),
            Figure::OfMetric(metric, None) => self.rate(metric),
            Figure::Interactivity(which) => self.interactivity(which),
            Figure::Cost => self.cost(),
        }
    }

    fn figures(&self) -> &FiguresDocument {
        &self.stage.figures
    }

    fn time(&self, metric: Metric, stat: Stat) -> Option<Reading> {
        let (figures, uncertainty) = (self.figures(), &self.stage.uncertainty);
        let (statistics, latencies) = match metric {
            Metric::Ttft => (&figures.ttft_ms, &uncertainty.ttft_ms),
            Metric::Tpot => (&figures.tpot_ms, &uncertainty.tpot_ms),
            Metric::Itl => (&figures.itl_ms, &None),
            Metric::Ntpot => (&figures.ntpot_ms, &uncertainty.ntpot_ms),
            Metric::E2e => (&figures.latency_ms, &uncertainty.latency_ms),
            _ => return None,
        };
        let value = statistics.as_ref()?.get(stat);
        if metric == Metric::Itl {
            let why = "the gaps between tokens have no interval: use TPOT".to_owned();
            return Some(Reading { value: finite(value)?, estimate: Err(why) });
        }
        let estimate = latencies.as_ref().and_then(|it| of_latencies(it, stat));
        let of_mean = latencies.as_ref().and_then(|it| it.mean.as_ref()?.effective_values);
        let method = |worth| match of_mean.filter(|it| *it < enough::FOR_AN_INTERVAL) {
            _ if stat == Stat::Mean => Method::Mean { effective_values: worth },
            Some(effective_values) => Method::QuantileOfFew { effective_values },
            None => Method::Quantile,
        };
        self.reading(value, estimate, method)
    }

    fn rate(&self, metric: Metric) -> Option<Reading> {
        let (figures, uncertainty) = (self.figures(), &self.stage.uncertainty);
        let rates = figures.throughput.as_ref();
        let (value, estimate) = match metric {
            Metric::GoodputRequestsPerSecond => {
                (figures.goodput.as_ref()?.good_requests_per_second?, &uncertainty.good_requests_per_second)
            }
            Metric::RequestsPerSecond => (rates?.requests_per_second, &uncertainty.requests_per_second),
            Metric::OutputTokensPerSecond => (rates?.output_tokens_per_second, &uncertainty.output_tokens_per_second),
            Metric::ErrorRatio => (figures.failed_share()?, &uncertainty.error_ratio),
            _ => return None,
        };
        let method = |worth| match metric {
            Metric::ErrorRatio => Method::Share { effective_values: worth },
            _ => Method::Mean { effective_values: worth },
        };
        self.reading(value, estimate.as_ref(), method)
    }

    fn interactivity(&self, which: Interactivity) -> Option<Reading> {
        let InteractivityDocument { inverse_of_tpot_p90, median_of_inverse_tpot, inverse_of_ntpot_p90 } =
            self.figures().interactivity?;
        let (value, time, stat) = match which {
            Interactivity::InverseOfTpotP90 => (inverse_of_tpot_p90?, Metric::Tpot, Stat::P90),
            Interactivity::MedianOfInverseTpot => (median_of_inverse_tpot?, Metric::Tpot, Stat::P50),
            Interactivity::InverseOfNtpotP90 => (inverse_of_ntpot_p90?, Metric::Ntpot, Stat::P90),
        };
        // Tokens per second of a user = 1000 / (ms per token).
        Some(inverse(self.time(time, stat)?, finite(value)?, 1e3))
    }

    fn cost(&self) -> Option<Reading> {
        let stages = &self.hardware?.stages;
        let value = stages.iter().find(|it| it.name == self.stage.name)?.figures.cost_per_million_output_tokens?;
        let rate = self.rate(Metric::OutputTokensPerSecond)?;
        // Cost = constant / rate: the constant follows from the report's own two figures.
        let constant = value * self.figures().throughput.as_ref()?.output_tokens_per_second;
        Some(inverse(rate, finite(value)?, finite(constant)?))
    }

    fn reading(
        &self,
        value: f64,
        estimate: Option<&EstimateDocument>,
        method: impl FnOnce(f64) -> Method,
    ) -> Option<Reading> {
        let value = finite(value)?;
        let estimate = match estimate {
            Some(it) => estimated(it, method),
            None => {
                Err(self.stage.uncertainty.absent.clone().unwrap_or_else(|| "the report has no interval of it".into()))
            }
        };
        Some(Reading { value: estimate.as_ref().map_or(value, |it| it.value), estimate })
    }
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|it| it.is_finite())
}

fn of_latencies(latencies: &LatenciesDocument, stat: Stat) -> Option<&EstimateDocument> {
    match stat {
        Stat::P50 => latencies.p50.as_ref(),
        Stat::P90 => latencies.p90.as_ref(),
        Stat::P99 => latencies.p99.as_ref(),
        _ => latencies.mean.as_ref(),
    }
}

fn estimated(it: &EstimateDocument, method: impl FnOnce(f64) -> Method) -> Result<Estimated, String> {
    let (Some(value), Some(low), Some(high)) = (it.value, it.low, it.high) else {
        return Err(it.too_few.clone().unwrap_or_else(|| "the report has no interval of it".into()));
    };
    // A share beyond the number of values, or bounds on the wrong side, come from no release of this program.
    let worth = it.effective_values.filter(|it| *it >= 1.0);
    let is_whole = [value, low, high].iter().all(|it| it.is_finite()) && low <= value && value <= high;
    match worth.filter(|_| is_whole) {
        Some(worth) => Ok(Estimated { value, interval: Interval { low, high }, method: method(worth) }),
        None => Err(format!("its interval from {low} to {high} does not hold its value {value}")),
    }
}

/// The reading of `constant` / figure, above 0, whose value the report has as `value`. Its bounds are those of the figure, exchanged.
fn inverse(of: Reading, value: f64, constant: f64) -> Reading {
    let estimate = of.estimate.and_then(|it| {
        let Interval { low, high } = it.interval;
        match low > 0.0 {
            true => Ok(Estimated {
                value: constant / it.value,
                interval: Interval { low: constant / high, high: constant / low },
                method: match it.method {
                    Method::Mean { effective_values } => Method::InverseOfMean { effective_values },
                    _ => Method::Quantile,
                },
            }),
            false => Err("its interval has no upper end, because that of what it is derived from reaches 0".into()),
        }
    });
    Reading { value: estimate.as_ref().map_or(value, |it| it.value), estimate }
}
