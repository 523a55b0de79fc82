//! Distributions of lengths in tokens, and of times.

use crds::units::Span;
use serde::{Deserialize, Serialize};

/// Lengths in tokens: drawn, clipped to min and max, rounded. The number of turns of a conversation is drawn in the same way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LengthDistribution {
    /// The shape.
    pub shape: Shape,
    /// The smallest length.
    pub min: u32,
    /// The largest length.
    pub max: u32,
    /// The mean of the shape before clipping.
    pub mean: f64,
    /// The standard deviation of the shape before clipping.
    pub std_dev: f64,
    /// How many lengths are drawn before they repeat; absent: one per request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_count: Option<u32>,
}

impl LengthDistribution {
    /// The same length always.
    pub fn fixed(length: u32) -> Self {
        LengthDistribution {
            shape: Shape::Fixed,
            min: length,
            max: length,
            mean: f64::from(length),
            std_dev: 0.0,
            total_count: None,
        }
    }

    /// Each length from `min` to `max` with the same probability.
    pub fn uniform(min: u32, max: u32) -> Self {
        let mean = f64::midpoint(f64::from(min), f64::from(max));
        LengthDistribution { shape: Shape::Uniform, min, max, mean, std_dev: 0.0, total_count: None }
    }
}

/// The shape of a length distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Shape {
    /// Gaussian.
    Normal,
    /// Log-normal with the given mean and standard deviation of the lengths themselves.
    Lognormal,
    /// Skew-normal with the given mean and standard deviation of the lengths themselves.
    SkewNormal {
        /// The shape parameter alpha: 0 is Gaussian, above 0 has its long tail on the side of long lengths.
        skew: f64,
    },
    /// Poisson with the given mean.
    Poisson,
    /// Each length from min to max with the same probability.
    Uniform,
    /// Always the mean.
    Fixed,
}

/// Times between requests of a session: drawn, and clipped to min and max.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimeDistribution {
    /// The shape.
    pub shape: Shape,
    /// The shortest time.
    pub min: Span,
    /// The longest time.
    pub max: Span,
    /// The mean of the shape before clipping.
    pub mean: Span,
    /// The standard deviation of the shape before clipping.
    pub std_dev: Span,
}

impl TimeDistribution {
    /// The same time always.
    pub fn fixed(time: Span) -> Self {
        TimeDistribution { shape: Shape::Fixed, min: time, max: time, mean: time, std_dev: Span::default() }
    }
}
