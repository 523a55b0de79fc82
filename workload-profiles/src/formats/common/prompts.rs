//! The text and the lengths of prompts, and the lengths of answers, in our own formats.

use std::ops::RangeInclusive;

use super::bounds::{MAX_DRAWN, MAX_PROMPTS, MAX_TOKENS};
use crate::{
    reader::Section,
    workload::{LengthDistribution, PromptText, Shape, TokenIdRange},
};

/// Beyond these values a skew-normal distribution equals half of a normal distribution.
const SKEW: RangeInclusive<f64> = -1e6..=1e6;

/// Reads what prompts are made of: `words`, `prose` or `tokenIds`.
pub(in crate::formats) fn text(section: &Section, key: &'static str) -> Option<PromptText> {
    let (name, holder) = section.variant(key, &["words", "prose", "tokenIds"])?;
    match (name, holder) {
        ("words", None) => Some(PromptText::Words),
        ("prose", None) => Some(PromptText::Prose),
        ("tokenIds", None) => Some(PromptText::TokenIds(TokenIdRange::default())),
        ("tokenIds", Some(holder)) => token_ids(holder.section(name)?).map(PromptText::TokenIds),
        (word, _) => {
            section.problem(key, format!("takes no settings for {word}; write {key}: {word}"));
            None
        }
    }
}

fn token_ids(section: Section) -> Option<TokenIdRange> {
    let default = TokenIdRange::default();
    let id = |key, default| section.or_default(key, default, |it, key| it.count_u32(key, 0..=u64::from(u32::MAX)));
    let (min, max) = (id("min", default.min()), id("max", default.max()));
    let range = TokenIdRange::new(min?, max?);
    if let Err(error) = &range {
        section.problem("min", error.to_string());
    }
    section.finish();
    range.ok()
}

/// Adds a problem when a load of shared prefixes has too many distinct prompts.
pub(in crate::formats) fn check_prompt_count(
    section: &Section,
    key: &str,
    groups: Option<u32>,
    prompts_per_group: Option<u32>,
) {
    if let (Some(groups), Some(prompts)) = (groups, prompts_per_group)
        && u64::from(groups) * u64::from(prompts) > MAX_PROMPTS
    {
        let message = format!(
            "is {groups}, which with {prompts} prompts each is more than {MAX_PROMPTS} prompts; lower one of the two"
        );
        section.problem(key, message);
    }
}

/// Which means a normal distribution can have. inference-perf has one rule for some keys and the other rule for the others. Our own format has the
/// same rules, because the workload in a report must be a valid profile.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::formats) enum NormalMean {
    /// Between min and max.
    WithinBounds,
    /// Anywhere: lengths are clipped after they are drawn.
    Anywhere,
}

/// Reads a required length: a number of tokens, or a distribution of such numbers.
pub(in crate::formats) fn required_length(
    parent: &Section,
    key: &'static str,
    normal: NormalMean,
) -> Option<LengthDistribution> {
    parent.require(key, "write a number of tokens, or {mean: 512, stdDev: 100, min: 1, max: 1024}");
    numbers(parent, key, normal, 1..=MAX_TOKENS)
}

/// Reads numbers in a range, such as turns or images: one number, or a distribution. `None` if the key is absent or wrong.
pub(in crate::formats) fn numbers(
    parent: &Section,
    key: &'static str,
    normal: NormalMean,
    range: RangeInclusive<u64>,
) -> Option<LengthDistribution> {
    match parent.value(key)? {
        value if value.is_object() => distribution(parent.section(key)?, normal, range),
        _ => parent.count_u32(key, range).map(LengthDistribution::fixed),
    }
}

/// Reads the shape of a distribution: a word, or `{skewNormal: {skew: 4}}`.
pub(in crate::formats) fn shape(section: &Section, key: &'static str) -> Option<Shape> {
    let names = ["normal", "lognormal", "skewNormal", "poisson", "uniform", "fixed"];
    let (name, holder) = section.variant(key, &names)?;
    let plain = match name {
        "normal" => Shape::Normal,
        "lognormal" => Shape::Lognormal,
        "poisson" => Shape::Poisson,
        "uniform" => Shape::Uniform,
        "fixed" => Shape::Fixed,
        _ => {
            let settings = section.with_value(key, name, holder)?.section(name)?;
            settings.require("skew", "write the shape parameter: above 0 for a long tail of long lengths");
            let skew = settings.number("skew", SKEW);
            settings.finish();
            return skew.map(|skew| Shape::SkewNormal { skew });
        }
    };
    if holder.is_some() {
        section.problem(key, format!("takes no settings for {name}; write {key}: {name}"));
    }
    Some(plain)
}

fn distribution(section: Section, normal: NormalMean, range: RangeInclusive<u64>) -> Option<LengthDistribution> {
    let shape = section.or_default("shape", Shape::Normal, shape);
    let most = *range.end() as f64;
    let is_uniform = shape == Some(Shape::Uniform);
    let may_be_0 = is_uniform || *range.start() == 0;
    let mean = if may_be_0 { section.number("mean", 0.0..=most) } else { section.positive_number("mean", most) };
    // The spread before clipping can be wider than the range.
    let std_dev = section.number("stdDev", 0.0..=MAX_TOKENS as f64).unwrap_or(0.0);
    let (min, max) = min_and_max(&section, mean.filter(|_| shape == Some(Shape::Fixed)), range);
    let total_count = section.count_u32("totalCount", 1..=MAX_DRAWN);
    if is_uniform {
        section.require("min", "a uniform distribution goes from min to max");
        section.require("max", "a uniform distribution goes from min to max");
    } else {
        section.require("mean", "write the mean of the lengths in tokens");
    }
    if min > max {
        section.problem("min", format!("is {min}, above max, which is {max}; lower it, or raise max"));
    } else if let Some(mean) = mean {
        check_mean(&section, shape, normal, mean, min..=max);
    }
    section.finish();
    let mean = mean.unwrap_or_else(|| f64::midpoint(f64::from(min), f64::from(max)));
    Some(LengthDistribution { shape: shape?, min, max, mean, std_dev, total_count })
}

/// Reads the bounds of the lengths. The default bounds of a fixed length equal that length.
fn min_and_max(section: &Section, fixed: Option<f64>, range: RangeInclusive<u64>) -> (u32, u32) {
    let (min, max) = (section.count_u32("min", range.clone()), section.count_u32("max", range.clone()));
    match fixed.map(|it| it.round() as u32) {
        // If only one bound is given, the default of the other bound never contradicts it. If the mean is outside the given bound, the check of the
        // mean reports this.
        Some(fixed) => (min.unwrap_or(fixed.min(max.unwrap_or(fixed))), max.unwrap_or(fixed.max(min.unwrap_or(fixed)))),
        None => (min.unwrap_or(*range.start() as u32), max.unwrap_or(*range.end() as u32)),
    }
}

/// Adds a problem if the mean must lie between the bounds but does not.
fn check_mean(section: &Section, shape: Option<Shape>, normal: NormalMean, mean: f64, bounds: RangeInclusive<u32>) {
    let (min, max) = bounds.into_inner();
    let within = |mean: f64| (f64::from(min)..=f64::from(max)).contains(&mean);
    let is_right = match shape {
        // A fixed length is rounded to an integer, so the rounded value must be within the bounds.
        Some(Shape::Fixed) => within(mean.round()),
        Some(Shape::Normal) => normal == NormalMean::Anywhere || within(mean),
        Some(Shape::Lognormal | Shape::SkewNormal { .. } | Shape::Poisson | Shape::Uniform) | None => true,
    };
    if !is_right {
        let what = format!("is {mean}, which is not between min and max, {min} and {max}");
        section.problem("mean", format!("{what}; change one of them"));
    }
}
