//! Distributions of lengths: a mean with a standard deviation and bounds.
//!
//! Without a standard deviation GuideLLM draws uniformly between the bounds, and an absent bound equals the mean. With a standard deviation GuideLLM
//! draws from a normal distribution and clips the result. An absent bound is then five standard deviations from the mean. If both bounds are equal,
//! the length is fixed.

use crate::{
    formats::{
        common::bounds::{MAX_PAUSE_SECONDS, MAX_TOKENS},
        guidellm::values::span,
    },
    reader::Section,
    workload::{LengthDistribution, Shape, TimeDistribution},
};

/// Distance of a default bound from the mean, in standard deviations.
const DEVIATIONS: f64 = 5.0;

/// The names of a distribution's keys.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    mean: &'static str,
    std_dev: &'static str,
    min: &'static str,
    max: &'static str,
}

macro_rules! keys {
    ($mean:literal) => {
        Keys {
            mean: $mean,
            std_dev: concat!($mean, "_stdev"),
            min: concat!($mean, "_min"),
            max: concat!($mean, "_max"),
        }
    };
}

pub(super) const PROMPT: Keys = keys!("prompt_tokens");
pub(super) const OUTPUT: Keys = keys!("output_tokens");
pub(super) const FIRST_PROMPT: Keys = keys!("first_prompt_tokens");
pub(super) const FIRST_OUTPUT: Keys = keys!("first_output_tokens");
pub(super) const TOOL_RESPONSE: Keys = keys!("tool_response_tokens");
pub(super) const DELAY: Keys = keys!("delay");

/// A distribution with all bounds filled in.
#[derive(Clone, Copy)]
struct Drawn {
    shape: Shape,
    mean: f64,
    std_dev: f64,
    min: f64,
    max: f64,
}

/// Reads lengths in tokens. `None` if they are absent or wrong.
pub(super) fn lengths(section: &Section, keys: Keys) -> Option<LengthDistribution> {
    let count = |key| section.count(key, 1..=MAX_TOKENS).map(|it| it as f64);
    let drawn = drawn(section, keys, 1.0, count)?;
    // The cast is exact, because lengths are at most MAX_TOKENS. Only the default bound can be larger, and it is clamped.
    let tokens = |it: f64| it.clamp(1.0, MAX_TOKENS as f64) as u32;
    Some(LengthDistribution {
        shape: drawn.shape,
        min: tokens(drawn.min),
        max: tokens(drawn.max),
        mean: drawn.mean,
        std_dev: drawn.std_dev,
        total_count: None,
    })
}

/// Reads times in seconds. `None` if they are absent or wrong.
pub(super) fn times(section: &Section, keys: Keys) -> Option<TimeDistribution> {
    let most = MAX_PAUSE_SECONDS as f64;
    let seconds =
        |key| if key == keys.min { section.number(key, 0.0..=most) } else { section.positive_number(key, most) };
    let drawn = drawn(section, keys, 0.0, seconds)?;
    Some(TimeDistribution {
        shape: drawn.shape,
        min: span(drawn.min.min(most))?,
        max: span(drawn.max.min(most))?,
        mean: span(drawn.mean)?,
        std_dev: span(drawn.std_dev)?,
    })
}

fn drawn(section: &Section, keys: Keys, least: f64, read: impl Fn(&'static str) -> Option<f64>) -> Option<Drawn> {
    let (mean, std_dev, min, max) = (read(keys.mean), read(keys.std_dev), read(keys.min), read(keys.max));
    if section.value(keys.mean).is_none() {
        for key in [keys.std_dev, keys.min, keys.max].into_iter().filter(|it| section.value(it).is_some()) {
            section.problem(key, format!("needs {}, the mean; write it too", keys.mean));
        }
        return None;
    }
    let mean = mean?;
    let spread = DEVIATIONS * std_dev.unwrap_or(0.0);
    let min = min.unwrap_or((mean - spread).max(least));
    let max = max.unwrap_or(mean + spread);
    if min > max {
        let key = if section.value(keys.min).is_some() { keys.min } else { keys.max };
        let what =
            format!("leaves no length: the bounds are {min} and {max}, where {} replaces a missing bound", keys.mean);
        section.problem(key, format!("{what}; lower {}, or raise {}", keys.min, keys.max));
        return None;
    }
    let shape = match std_dev {
        _ if min == max => Shape::Fixed,
        None => Shape::Uniform,
        Some(_) => Shape::Normal,
    };
    // The mean of the distribution before clipping. If the length is fixed, its two equal bounds replace the mean.
    let mean = match shape {
        Shape::Fixed => min,
        Shape::Uniform => f64::midpoint(min, max),
        _ => mean,
    };
    let std_dev = if shape == Shape::Normal { std_dev.unwrap_or(0.0) } else { 0.0 };
    Some(Drawn { shape, mean, std_dev, min, max })
}
