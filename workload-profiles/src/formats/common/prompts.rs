//! What prompts are made of, and how long they and their answers are, in our own formats.

use super::bounds::{MAX_DRAWN, MAX_TOKENS};
use crate::{
    reader::Section,
    workload::{LengthDistribution, PromptText, Shape, TokenIdRange},
};

/// The key `text`.
pub(in crate::formats) fn text(section: &Section, keys: &[&str]) -> Option<PromptText> {
    let (kind, within) = section.variant("text", &["words", "prose", "tokenIds"])?;
    let ids = within.and_then(|it| it.section(kind));
    Some(match (kind, ids) {
        ("words", None) => PromptText::Words,
        ("prose", None) => PromptText::Prose,
        ("tokenIds", None) => PromptText::TokenIds(TokenIdRange::default()),
        ("tokenIds", Some(ids)) => {
            let id = |key, default: u32| match ids.value(key) {
                None => Some(default),
                Some(_) => ids.count(key, 0..=u64::from(u32::MAX)).and_then(|it| u32::try_from(it).ok()),
            };
            let (min, max) = (id("min", TokenIdRange::default().min()), id("max", TokenIdRange::default().max()));
            let range = TokenIdRange::new(min?, max?);
            if let Err(error) = &range {
                ids.problem("min", error.to_string());
            }
            ids.finish(keys);
            PromptText::TokenIds(range.ok()?)
        }
        (word, Some(_)) => {
            section.problem("text", format!("has no settings for {word}; write text: {word}"));
            return None;
        }
        _ => return None,
    })
}

/// Where the mean of a normal distribution may lie. inference-perf has both rules, and what a report says of its workloads is
/// a profile.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::formats) enum NormalMean {
    /// Between min and max.
    WithinBounds,
    /// Anywhere: what is drawn is clipped.
    Anywhere,
}

/// A length that has to be there: a number, or a distribution.
pub(in crate::formats) fn required_length(
    parent: &Section,
    key: &'static str,
    normal: NormalMean,
    keys: &[&str],
) -> Option<LengthDistribution> {
    parent.missing(key, "write a number of tokens, or {mean: 512, stdDev: 100, min: 1, max: 1024}");
    match parent.value(key)? {
        value if value.is_object() => distribution(parent.section(key)?, normal, keys),
        _ => parent.count(key, 1..=MAX_TOKENS).and_then(|it| u32::try_from(it).ok()).map(LengthDistribution::fixed),
    }
}

fn distribution(section: Section, normal: NormalMean, keys: &[&str]) -> Option<LengthDistribution> {
    let shapes = [
        ("normal", Shape::Normal),
        ("lognormal", Shape::Lognormal),
        ("uniform", Shape::Uniform),
        ("fixed", Shape::Fixed),
    ];
    let shape = section.value("shape").map_or(Some(Shape::Normal), |_| section.choice("shape", &shapes));
    let most = MAX_TOKENS as f64;
    let uniform = shape == Some(Shape::Uniform);
    let mean = if uniform { section.number("mean", 0.0..=most) } else { section.positive("mean", most) };
    let std_dev = section.number("stdDev", 0.0..=most).unwrap_or(0.0);
    let length = |key| section.count(key, 1..=MAX_TOKENS).and_then(|it| u32::try_from(it).ok());
    let (min, max) = (length("min"), length("max"));
    let total_count = section.count("totalCount", 1..=MAX_DRAWN).and_then(|it| u32::try_from(it).ok());
    if uniform {
        section.missing("min", "a uniform distribution goes from min to max");
        section.missing("max", "a uniform distribution goes from min to max");
    } else {
        section.missing("mean", "write the mean of the lengths in tokens");
    }
    let fixed = mean.filter(|_| shape == Some(Shape::Fixed)).map(|it| it.round() as u32);
    // Of a fixed length the one bound that is written is the other as well, where the mean is past it.
    let (min, max) = (
        min.or(fixed.map(|it| it.min(max.unwrap_or(it)))).unwrap_or(1),
        max.or(fixed.map(|it| it.max(min.unwrap_or(it)))).unwrap_or(MAX_TOKENS as u32),
    );
    if min > max {
        section.problem("min", format!("is {min}, above max, which is {max}; lower it, or raise max"));
    }
    let bounded = shape == Some(Shape::Fixed) || (shape == Some(Shape::Normal) && normal == NormalMean::WithinBounds);
    // A fixed length is rounded to a whole one.
    let sent = |mean: f64| if shape == Some(Shape::Fixed) { mean.round() } else { mean };
    let within = |mean: f64| (f64::from(min)..=f64::from(max)).contains(&sent(mean));
    if let Some(mean) = mean.filter(|it| bounded && min <= max && !within(*it)) {
        let what = format!("is {mean}, which is not between min and max, {min} and {max}");
        section.problem("mean", format!("{what}; change one of them"));
    }
    section.finish(keys);
    let mean = mean.unwrap_or_else(|| f64::midpoint(f64::from(min), f64::from(max)));
    Some(LengthDistribution { shape: shape?, min, max, mean, std_dev, total_count })
}
