//! Lengths of time, and times between requests as our own formats write them.

use std::time::Duration;

use crds::units::Span;

use super::{bounds::MAX_PAUSE_SECONDS, prompts::shape};
use crate::{
    reader::Section,
    workload::{Shape, TimeDistribution},
};

/// Converts seconds to a time span. `None` only for values that the getters refuse. A time above 0 has at least one nanosecond.
pub(in crate::formats) fn span(seconds: f64) -> Option<Span> {
    let least = Duration::from_nanos(u64::from(seconds > 0.0));
    Duration::try_from_secs_f64(seconds).ok().map(|it| Span(it.max(least)))
}

/// Reads a latency goal in milliseconds. `None` if the key is absent or wrong.
pub(in crate::formats) fn goal_millis(section: &Section, key: &'static str) -> Option<Span> {
    let millis = section.positive_number(key, MAX_PAUSE_SECONDS as f64 * 1_000.0)?;
    // A thousandth of the smallest number is 0, which is not a valid goal.
    span((millis / 1_000.0).max(f64::MIN_POSITIVE))
}

/// Reads a time, or a distribution of times. `None` if the key is absent or wrong.
pub(in crate::formats) fn times(parent: &Section, key: &'static str) -> Option<TimeDistribution> {
    match parent.value(key)? {
        value if value.is_object() => distribution(parent.section(key)?),
        _ => parent.span(key, MAX_PAUSE_SECONDS).map(TimeDistribution::fixed),
    }
}

fn distribution(section: Section) -> Option<TimeDistribution> {
    let shape = section.or_default("shape", Shape::Normal, shape);
    let time = |key| section.span(key, MAX_PAUSE_SECONDS);
    let (mean, std_dev, min, max) = (time("mean"), time("stdDev").unwrap_or_default(), time("min"), time("max"));
    if shape == Some(Shape::Uniform) {
        section.require("min", "a uniform distribution goes from min to max");
        section.require("max", "a uniform distribution goes from min to max");
    } else {
        section.require("mean", "write the mean, such as 5s");
    }
    let fixed = mean.filter(|_| shape == Some(Shape::Fixed));
    let min = min.or(fixed).unwrap_or_default();
    let max = max.or(fixed).unwrap_or(Span(Duration::from_secs(MAX_PAUSE_SECONDS)));
    if min > max {
        section.problem("min", format!("is {min}, above max, which is {max}; lower it, or raise max"));
    } else if let Some(mean) = fixed.filter(|it| *it < min || *it > max) {
        section.problem(
            "mean",
            format!("is {mean}, which is not between min and max, {min} and {max}; change one of them"),
        );
    }
    section.finish();
    let mean = mean.unwrap_or(Span((min.0.saturating_add(max.0)) / 2));
    Some(TimeDistribution { shape: shape?, min, max, mean, std_dev })
}
