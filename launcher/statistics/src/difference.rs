//! The interval of the difference of two independent estimates, from the interval of each.
//!
//! The method is MOVER, the method of variance estimates recovery (Zou and Donner, Construction of confidence limits about effect measures: a general
//! approach, Statistics in Medicine 27, 2008; for shares Newcombe, Interval estimation for the difference between independent proportions, Statistics
//! in Medicine 17, 1998). Each bound of the difference combines one side of each interval: the two sides that face each other. So the method also
//! works for asymmetric intervals.
//!
//! If many differences are examined together, each interval must be wider, so that all of them hold at the same time (Bonferroni). The given
//! intervals are at 95 %; [`Estimated::at`] widens them.

use crate::{
    Interval, LEVEL, batch_means,
    normal::upper_quantile,
    share::wilson,
    student::{NORMAL_95, t_95, two_sided},
};

/// How an interval was computed. This determines how it is widened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// A mean over requests, with an interval from batch means and Student's t.
    Mean {
        /// Number of independent values that the mean is worth.
        effective_values: f64,
    },
    /// By order statistics, for values above 0. When the interval is widened, both bounds move by the same factor on a logarithmic scale, because in
    /// a long tail, more extreme values are farther apart.
    Quantile,
    /// A quantile of few values, from the quantiles of batches: Student's t on a logarithmic scale.
    QuantileOfFew {
        /// Number of independent values that the mean is worth.
        effective_values: f64,
    },
    /// The mean of a figure over independent runs: Student's t.
    MeanOfRuns {
        /// Number of runs, two or more.
        runs: usize,
    },
    /// The inverse of a mean above 0: like a mean, but on a logarithmic scale.
    InverseOfMean {
        /// Number of independent values that the mean is worth.
        effective_values: f64,
    },
    /// A share by Wilson's score.
    Share {
        /// Number of independent values that the share is worth.
        effective_values: f64,
    },
}

/// An estimate with its interval at 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    pub value: f64,
    pub interval: Interval,
    pub method: Method,
}

impl Estimated {
    /// The interval that misses the true value with the probability `error`. For an `error` of 0.05, this is the given interval.
    pub fn at(&self, error: f64) -> Interval {
        match self.method {
            Method::Mean { effective_values } => self.by_factor(student_factor(error, effective_values)),
            Method::Quantile => self.by_ratio(upper_quantile(error / 2.0) / NORMAL_95),
            Method::MeanOfRuns { runs } => {
                let degrees = runs.saturating_sub(1).max(1);
                self.by_factor(two_sided(error, degrees) / t_95(degrees))
            }
            Method::InverseOfMean { effective_values } | Method::QuantileOfFew { effective_values } => {
                self.by_ratio(student_factor(error, effective_values))
            }
            Method::Share { effective_values } => wilson(self.value, effective_values, upper_quantile(error / 2.0)),
        }
    }

    /// Moves both bounds to `factor` times their distance from the value.
    fn by_factor(&self, factor: f64) -> Interval {
        let Interval { low, high } = self.interval;
        Interval { low: self.value - (self.value - low) * factor, high: self.value + (high - self.value) * factor }
    }

    /// Moves both bounds to `factor` times their distance from the value on a logarithmic scale. A bound of 0 does not exist on that scale and stays.
    fn by_ratio(&self, factor: f64) -> Interval {
        let moved = |bound: f64| {
            let is_above_zero = bound > 0.0 && self.value > 0.0;
            if is_above_zero { self.value * (bound / self.value).powf(factor) } else { bound }
        };
        Interval { low: moved(self.interval.low), high: moved(self.interval.high) }
    }
}

/// The width of the interval of a mean for this error probability, relative to the width at 95 %.
fn student_factor(error: f64, effective_values: f64) -> f64 {
    let degrees = batch_means::batches(effective_values) - 1;
    two_sided(error, degrees) / t_95(degrees)
}

/// The error probability of a two-sided 95 % interval.
pub const ERROR_95: f64 = 1.0 - LEVEL;

/// The interval of `other` - `base`. It misses the true difference with the probability `error`.
pub fn difference(base: &Estimated, other: &Estimated, error: f64) -> Interval {
    let (one, two) = (base.at(error), other.at(error));
    let between = other.value - base.value;
    let down = (other.value - two.low).hypot(one.high - base.value);
    let up = (two.high - other.value).hypot(base.value - one.low);
    Interval { low: between - down, high: between + up }
}
