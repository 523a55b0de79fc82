//! Reads a figure of a stage from a report: its value and, if available, its interval.

use ::document::{EstimateDocument, FiguresDocument, HardwareDocument, StageDocument};
use crds::benchmark_run::Stat;
use figures::{Figure, Value};
use statistics::{
    Interval,
    difference::{Estimated, Method},
    enough,
};

use crate::figure::source;

/// A value and its uncertainty.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    pub(crate) value: f64,
    /// The estimate with its 95 % interval, or why there is no interval.
    pub(crate) estimate: Result<Estimated, String>,
}

/// Where the figures of a stage are read from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) stage: &'a StageDocument,
    pub(crate) hardware: Option<&'a HardwareDocument>,
}

impl Source<'_> {
    /// Returns the value of a figure. `None` if it was not measured, or is not a finite number.
    ///
    /// The value comes from `uncertainty` if the figure is there, because the interval belongs to that value.
    pub(crate) fn read(&self, value: Value) -> Option<Reading> {
        match (value.stat, value.figure) {
            (Some(stat), figure) => self.time(figure, stat),
            (None, Figure::CostPerMillionOutputTokens) => self.cost(),
            (None, figure) => match source(figure) {
                of if of == figure => self.rate(figure),
                of => self.interactivity(figure, of),
            },
        }
    }

    fn figures(&self) -> &FiguresDocument {
        &self.stage.figures
    }

    fn time(&self, figure: Figure, stat: Stat) -> Option<Reading> {
        let value = self.figures().statistics(figure)?.get(stat);
        if figure == Figure::Itl {
            let why = "gaps between tokens have no interval: use TPOT instead".to_owned();
            return Some(Reading { value: finite(value)?, estimate: Err(why) });
        }
        let latencies = self.stage.uncertainty.latencies(figure);
        let estimate = latencies.and_then(|it| it.get(stat));
        let of_mean = latencies.and_then(|it| it.mean.as_ref()?.effective_values);
        let method = |worth| match of_mean.filter(|it| *it < enough::FOR_AN_INTERVAL) {
            _ if stat == Stat::Mean => Method::Mean { effective_values: worth },
            Some(effective_values) => Method::QuantileOfFew { effective_values },
            None => Method::Quantile,
        };
        self.reading(value, estimate, method)
    }

    fn rate(&self, figure: Figure) -> Option<Reading> {
        let method = |worth| match figure {
            Figure::ErrorRatio => Method::Share { effective_values: worth },
            _ => Method::Mean { effective_values: worth },
        };
        self.reading(self.figures().number(figure)?, self.stage.uncertainty.estimate(figure), method)
    }

    /// Tokens per second that one user receives: 1000 / (milliseconds per token).
    fn interactivity(&self, figure: Figure, of: Figure) -> Option<Reading> {
        let stat = if figure == Figure::MedianOfInverseTpot { Stat::P50 } else { Stat::P90 };
        let value = finite(self.figures().number(figure)?)?;
        Some(inverse(self.time(of, stat)?, value, 1e3))
    }

    fn cost(&self) -> Option<Reading> {
        let stages = &self.hardware?.stages;
        let value = stages.iter().find(|it| it.name == self.stage.name)?.figures.cost_per_million_output_tokens?;
        let rate = self.rate(Figure::OutputTokensPerSecond)?;
        // Cost = constant / rate. The constant is the product of the report's cost and rate.
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
            None => Err(self
                .stage
                .uncertainty
                .absent
                .clone()
                .unwrap_or_else(|| "the report has no interval of this figure".into())),
        };
        Some(Reading { value: estimate.as_ref().map_or(value, |it| it.value), estimate })
    }
}

fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|it| it.is_finite())
}

fn estimated(it: &EstimateDocument, method: impl FnOnce(f64) -> Method) -> Result<Estimated, String> {
    let (Some(value), Some(low), Some(high)) = (it.value, it.low, it.high) else {
        return Err(it.too_few.clone().unwrap_or_else(|| "the report has no interval of this figure".into()));
    };
    // Rejects values that no release of this program writes: fewer than one effective value, and a bound on the wrong side of the value.
    let worth = it.effective_values.filter(|it| *it >= 1.0);
    let is_whole = [value, low, high].iter().all(|it| it.is_finite()) && low <= value && value <= high;
    match worth.filter(|_| is_whole) {
        Some(worth) => Ok(Estimated { value, interval: Interval { low, high }, method: method(worth) }),
        None => Err(format!("its interval from {low} to {high} does not contain its value {value}")),
    }
}

/// Returns a figure that is inverse to `of`: `constant` / `of`. `value` is the figure's value in the report. Its bounds are `constant` divided by the
/// bounds of `of`.
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
            false => {
                Err("its interval has no upper end, because it is the inverse of a figure whose interval reaches 0"
                    .into())
            }
        }
    });
    Reading { value: estimate.as_ref().map_or(value, |it| it.value), estimate }
}
