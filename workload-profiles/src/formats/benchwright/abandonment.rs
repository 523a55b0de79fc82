//! Clients that go away before their answer is complete.

use crate::{
    formats::common::bounds::{MAX_PAUSE_SECONDS, MAX_TOKENS},
    reader::Section,
    workload::{Abandonment, Departure},
};

/// Reads the section `abandonment`; Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section) -> Option<Abandonment> {
    section.require("share", "write the share of the requests whose client goes away, 0 to 1");
    section.require("after", "write when the client goes away, such as {exponential: {mean: 5s}} or {tokens: 10}");
    let share = section.number("share", 0.0..=1.0);
    let after = section
        .variant_with_value("after", &["uniform", "exponential", "tokens"])
        .and_then(|(name, holder)| departure(name, &holder));
    section.finish();
    Some(Abandonment { share: share?, after: after? })
}

fn departure(name: &'static str, holder: &Section) -> Option<Departure> {
    match name {
        "tokens" => holder.count_u32("tokens", 1..=MAX_TOKENS).map(Departure::Tokens),
        "exponential" => holder.section("exponential").and_then(exponential),
        _ => holder.section("uniform").and_then(uniform),
    }
}

fn exponential(section: Section) -> Option<Departure> {
    section.require("mean", "write the mean time after sending");
    let mean = section.positive_span("mean", MAX_PAUSE_SECONDS);
    section.finish();
    Some(Departure::Exponential { mean: mean? })
}

fn uniform(section: Section) -> Option<Departure> {
    section.require("max", "write the longest time after sending");
    let min = section.span("min", MAX_PAUSE_SECONDS).unwrap_or_default();
    let max = section.span("max", MAX_PAUSE_SECONDS);
    if let Some(max) = max.filter(|it| min > *it) {
        section.problem("min", format!("is {min}, above max, which is {max}; lower it, or raise max"));
    }
    section.finish();
    Some(Departure::Uniform { min, max: max? })
}
