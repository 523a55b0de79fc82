//! Distributions of lengths in tokens, and of times.

use crds::units::Span;
use serde::{Deserialize, Serialize};

/// Lengths in tokens. Each is drawn, clipped to min and max, and rounded. Other numbers, such as the number of turns in a conversation, are drawn in
/// the same way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LengthDistribution {
    /// The shape of the distribution.
    pub shape: Shape,
    /// Minimum length.
    pub min: u32,
    /// Maximum length.
    pub max: u32,
    /// The mean of the distribution before clipping.
    pub mean: f64,
    /// The standard deviation of the distribution before clipping.
    pub std_dev: f64,
    /// Number of lengths that are drawn. Further requests repeat the drawn lengths. If absent, each request draws its own length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_count: Option<u32>,
}

impl LengthDistribution {
    /// A distribution that always returns this length.
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

    /// A uniform distribution: each length from `min` to `max` has the same probability.
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
    /// Log-normal. The mean and the standard deviation describe the lengths, not their logarithms.
    Lognormal,
    /// Skew-normal. The mean and the standard deviation describe the lengths.
    SkewNormal {
        /// The shape parameter alpha. 0 is Gaussian. Above 0 the distribution has a long tail of long lengths.
        skew: f64,
    },
    /// Poisson with the given mean.
    Poisson,
    /// Each length from min to max with the same probability.
    Uniform,
    /// Always the mean.
    Fixed,
}

/// Times between the requests of a session. Each is drawn, and clipped to min and max.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimeDistribution {
    /// The shape of the distribution.
    pub shape: Shape,
    /// Minimum time.
    pub min: Span,
    /// Maximum time.
    pub max: Span,
    /// The mean of the distribution before clipping.
    pub mean: Span,
    /// The standard deviation of the distribution before clipping.
    pub std_dev: Span,
}

impl TimeDistribution {
    /// A distribution that always returns this time.
    pub fn fixed(time: Span) -> Self {
        TimeDistribution { shape: Shape::Fixed, min: time, max: time, mean: time, std_dev: Span::default() }
    }
}
