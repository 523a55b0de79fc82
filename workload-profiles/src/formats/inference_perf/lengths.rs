//! The lengths of prompts and answers: the distribution object of the original.

use crate::{
    formats::{
        common::bounds::{MAX_DRAWN, MAX_TOKENS},
        inference_perf::values::unsupported,
    },
    reader::Section,
    workload::{LengthDistribution, Shape},
};

/// The original's defaults of min, max, mean and standard deviation.
const DEFAULT: (u32, u32, f64, f64) = (10, 1024, 512.0, 200.0);

/// Which of the two samplers of the original draws the lengths; their rules differ.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sampler {
    /// For random and synthetic prompts: the mean of a normal distribution must lie between min and max.
    Lists,
    /// For shared prefixes: a length is drawn, clipped and rounded, and the mean may lie anywhere.
    Single,
}

#[derive(Clone, Copy)]
enum Type {
    Supported(Shape),
    Unsupported(&'static str),
}

/// A key that holds a distribution; `None` when it is absent or wrong.
pub(super) fn read(parent: &Section, key: &'static str, sampler: Sampler) -> Option<LengthDistribution> {
    let section = parent.section(key)?;
    let shape = shape(&section);
    let min = section.count_u32("min", 1..=MAX_TOKENS).unwrap_or(DEFAULT.0);
    let max = section.count_u32("max", 1..=MAX_TOKENS).unwrap_or(DEFAULT.1);
    let mean = section.positive_number("mean", MAX_TOKENS as f64).unwrap_or(DEFAULT.2);
    let std_dev = std_dev(&section);
    let total_count = section.count_u32("total_count", 1..=MAX_DRAWN);
    section.number("skew", f64::MIN..=f64::MAX);
    let mut usable = true;
    if min > max {
        section.problem(
            "min",
            format!("is {min}, above max, which is {max}{}; lower it, or raise max", default_note(&section, "max")),
        );
        usable = false;
    }
    let bounded = match shape {
        Some(Shape::Normal) => sampler == Sampler::Lists,
        Some(Shape::Fixed) => true,
        Some(Shape::Lognormal | Shape::SkewNormal { .. } | Shape::Poisson | Shape::Uniform) | None => false,
    };
    if usable && bounded && !(f64::from(min)..=f64::from(max)).contains(&mean) {
        let note = default_note(&section, "mean");
        section.problem(
            "mean",
            format!("is {mean}{note}, which is not between min and max, {min} and {max}; change one of them"),
        );
        usable = false;
    }
    section.finish();
    let shape = shape.filter(|_| usable)?;
    let std_dev = if shape == Shape::Fixed { 0.0 } else { std_dev };
    Some(LengthDistribution { shape, min, max, mean, std_dev, total_count })
}

/// A key that holds a number or a distribution.
pub(super) fn length(parent: &Section, key: &'static str) -> Option<LengthDistribution> {
    match parent.value(key)? {
        value if value.is_object() => read(parent, key, Sampler::Single),
        _ => parent.count_u32(key, 1..=MAX_TOKENS).map(LengthDistribution::fixed),
    }
}

fn shape(section: &Section) -> Option<Shape> {
    let types = [
        ("normal", Type::Supported(Shape::Normal)),
        ("lognormal", Type::Supported(Shape::Lognormal)),
        ("uniform", Type::Supported(Shape::Uniform)),
        ("fixed", Type::Supported(Shape::Fixed)),
        ("skew_normal", Type::Unsupported("skew_normal")),
        ("poisson", Type::Unsupported("poisson")),
    ];
    match section.value("type").map(|_| section.choice("type", &types)) {
        None => Some(Shape::Normal),
        Some(Some(Type::Supported(shape))) => Some(shape),
        Some(Some(Type::Unsupported(name))) => {
            section.problem("type", unsupported(name, &["normal", "lognormal", "uniform", "fixed"]));
            None
        }
        Some(None) => None,
    }
}

/// The standard deviation: from `std_dev`; from `std`, which the original ignores; or from `variance`, which the original uses
/// only together with `std_dev: 0`.
fn std_dev(section: &Section) -> f64 {
    let most = MAX_TOKENS as f64;
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

/// ` (the default)` when the key was left out, so that its value is not in the profile.
fn default_note(section: &Section, key: &'static str) -> &'static str {
    if section.value(key).is_none() { " (the default)" } else { "" }
}
