//! Lengths, counts and times, which inference-perf writes as an object that describes a distribution.

use std::ops::RangeInclusive;

use crds::units::Span;

use super::values::span;
use crate::{
    formats::common::bounds::{MAX_DRAWN, MAX_PAUSE_SECONDS, MAX_TOKENS},
    reader::Section,
    workload::{LengthDistribution, Shape, TimeDistribution},
};

/// inference-perf's defaults: min, max, mean and standard deviation.
const DEFAULT: (u32, u32, f64, f64) = (10, 1024, 512.0, 200.0);
/// Beyond this skew a skew-normal distribution equals half of a normal distribution.
const MAX_SKEW: f64 = 1e6;

/// The sampler of inference-perf that draws the lengths. Its two samplers have different rules.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sampler {
    /// The sampler for random and synthetic prompts. The mean of a normal distribution must lie between min and max, and a fixed length is rounded
    /// down.
    Lists,
    /// The sampler for all other data. A length is drawn, clipped and rounded, and the mean can be any number.
    Single,
}

/// Reads a distribution of lengths in tokens. `None` if the key is absent or wrong.
pub(super) fn read(parent: &Section, key: &'static str, sampler: Sampler) -> Option<LengthDistribution> {
    distribution(parent.section(key)?, sampler, 1..=MAX_TOKENS)
}

/// Reads a length in tokens, or a distribution of lengths.
pub(super) fn length(parent: &Section, key: &'static str) -> Option<LengthDistribution> {
    number(parent, key, 1..=MAX_TOKENS)
}

/// Reads a number in a range, or a distribution of such numbers.
pub(super) fn number(parent: &Section, key: &'static str, range: RangeInclusive<u64>) -> Option<LengthDistribution> {
    match parent.value(key)? {
        value if value.is_object() => distribution(parent.section(key)?, Sampler::Single, range),
        _ => parent.count_u32(key, range).map(LengthDistribution::fixed),
    }
}

fn distribution(section: Section, sampler: Sampler, range: RangeInclusive<u64>) -> Option<LengthDistribution> {
    let (least, most) = (*range.start(), *range.end() as f64);
    let shape = shape(&section, sampler);
    let min = section.count_u32("min", range.clone()).unwrap_or(DEFAULT.0);
    let max = section.count_u32("max", range).unwrap_or(DEFAULT.1);
    let mean = if least == 0 { section.number("mean", 0.0..=most) } else { section.positive_number("mean", most) };
    let mean = mean.unwrap_or(DEFAULT.2);
    let std_dev = std_dev(&section, MAX_TOKENS as f64);
    // inference-perf draws at least `total_count` lengths and uses each only once, so the key is only checked and has no effect.
    section.count_u32("total_count", 1..=MAX_DRAWN);
    // inference-perf ignores min and max of a fixed length, and the mean of a uniform distribution.
    let is_fixed = shape == Some(Shape::Fixed);
    let is_uniform = shape == Some(Shape::Uniform);
    let mut usable = true;
    for (key, value, used) in [("max", f64::from(max), !is_fixed), ("mean", mean, !is_uniform)] {
        if used && value > most {
            section.problem(key, format!("is {value}{}; write at most {most}", default_note(&section, key)));
            usable = false;
        }
    }
    if min > max && !is_fixed {
        section.problem(
            "min",
            format!("is {min}, above max, which is {max}{}; lower it, or raise max", default_note(&section, "max")),
        );
        usable = false;
    }
    let bounded = shape == Some(Shape::Normal) && sampler == Sampler::Lists;
    if usable && bounded && !(f64::from(min)..=f64::from(max)).contains(&mean) {
        let note = default_note(&section, "mean");
        section.problem(
            "mean",
            format!("is {mean}{note}, which is not between min and max, {min} and {max}; change one of them"),
        );
        usable = false;
    }
    section.finish();
    Some(match shape.filter(|_| usable)? {
        Shape::Fixed => {
            let whole = if sampler == Sampler::Lists { mean.floor() } else { mean.round() };
            LengthDistribution::fixed((whole as u32).max(least as u32))
        }
        Shape::Uniform => LengthDistribution::uniform(min, max),
        shape => LengthDistribution { shape, min, max, mean, std_dev, total_count: None },
    })
}

/// Reads a distribution of seconds. `None` if the key is absent, wrong, or always 0.
pub(super) fn seconds(parent: &Section, key: &'static str) -> Option<TimeDistribution> {
    let section = parent.section(key)?;
    let most = MAX_PAUSE_SECONDS as f64;
    let shape = shape(&section, Sampler::Single);
    let time = |key, default| section.number(key, 0.0..=most).unwrap_or(default);
    let min = time("min", f64::from(DEFAULT.0));
    let max = time("max", f64::from(DEFAULT.1));
    let mean = time("mean", DEFAULT.2);
    let std_dev = std_dev(&section, most);
    section.count_u32("total_count", 1..=MAX_DRAWN);
    if min > max && shape != Some(Shape::Fixed) {
        section.problem("min", format!("is {min}, above max, which is {max}; lower it, or raise max"));
        return None;
    }
    section.finish();
    let shape = shape?;
    let times = match shape {
        Shape::Fixed => TimeDistribution::fixed(span(mean)?),
        _ => TimeDistribution { shape, min: span(min)?, max: span(max)?, mean: span(mean)?, std_dev: span(std_dev)? },
    };
    (times.max > Span::default()).then_some(times)
}

fn shape(section: &Section, sampler: Sampler) -> Option<Shape> {
    let skew = section.number("skew", -MAX_SKEW..=MAX_SKEW).unwrap_or(0.0);
    let types = [
        ("normal", Shape::Normal),
        ("lognormal", Shape::Lognormal),
        ("uniform", Shape::Uniform),
        ("fixed", Shape::Fixed),
        ("skew_normal", Shape::SkewNormal { skew }),
        ("poisson", Shape::Poisson),
    ];
    let shape = section.or_default("type", Shape::Normal, |it, key| it.choice(key, &types));
    if sampler == Sampler::Lists && matches!(shape, Some(Shape::SkewNormal { .. } | Shape::Poisson)) {
        section
            .notice("type", "is used as for shared prefixes; inference-perf refuses it for random and synthetic data");
    }
    shape
}

/// Reads the standard deviation. It comes from `std_dev`; from `std`, which inference-perf ignores; or from `variance`, which inference-perf uses
/// only together with `std_dev: 0`.
fn std_dev(section: &Section, most: f64) -> f64 {
    let given = section.number("std_dev", 0.0..=most);
    let std = section.number("std", 0.0..=most);
    let variance = section.number("variance", 0.0..=most * most);
    match (given, std, variance) {
        (Some(_), Some(_), _) => section.problem("std", "is set, and so is std_dev; keep std_dev"),
        (None, Some(std), None) => {
            section
                .notice("std", format!("is read as std_dev, {std}; inference-perf ignores it and uses {}", DEFAULT.3));
        }
        (None, Some(_), Some(_)) => section.problem("variance", "is set, and so is std; keep one of them, as std_dev"),
        (_, None, Some(variance)) if variance > 0.0 && given != Some(0.0) => {
            let std_dev = variance.sqrt();
            let advice = format!("write std_dev: {std_dev} instead, or std_dev: 0 as well");
            section.problem(
                "variance",
                format!("is {variance}, but std_dev is not 0 (it is {} when left out); {advice}", DEFAULT.3),
            );
        }
        _ => {}
    }
    match (given, std, variance) {
        (Some(0.0), None, Some(variance)) => variance.sqrt(),
        _ => given.or(std).unwrap_or(DEFAULT.3),
    }
}

/// Returns ` (the default)` if the key is absent. A message about the default value then shows that the profile does not contain it.
fn default_note(section: &Section, key: &'static str) -> &'static str {
    if section.value(key).is_none() { " (the default)" } else { "" }
}
