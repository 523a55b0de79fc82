//! The rate of an open load. `ramp`, `step` and `spike` are short forms of a list of points.

use std::time::Duration;

use crds::units::{RequestRate, Span};

use super::measured;
use crate::{
    formats::common::{bounds::MAX_STAGE_SECONDS, fields::stage_time},
    reader::Section,
    workload::{RampUpStrategy, Rate, RatePoint, RateShape},
};

/// Maximum points of a rate.
const MAX_POINTS: usize = 10_000;

/// Reads `rate` of an open load. `duration` is the duration of the load, if it has one. `earlier` is the number of stages before the stage of this
/// load. Returns `None` if at least one problem was reported.
pub(super) fn read(section: &Section, duration: Option<Span>, earlier: usize) -> Option<Rate> {
    let value = section.value("rate")?;
    if !value.is_object() {
        return Some(Rate::Steady(some_rate(section, "rate")?));
    }
    let names = ["points", "sinusoid", "rampUp", "ramp", "step", "spike", "measured"];
    let (name, holder) = section.variant_with_value("rate", &names)?;
    if name == "points" {
        return points(&holder).map(|it| Rate::Varying(RateShape::Points(it)));
    }
    let within = holder.section(name)?;
    let shape = match name {
        "sinusoid" => sinusoid(&within),
        "rampUp" => ramp_up(&within),
        "ramp" => ramp(&within, section, duration),
        "step" => step(&within),
        "spike" => spike(&within),
        _ => measured::read(&within, earlier).map(RateShape::Measured),
    };
    within.finish();
    shape.map(Rate::Varying)
}

/// Reads a rate above zero.
fn some_rate(section: &Section, key: &'static str) -> Option<RequestRate> {
    section.positive_number(key, RequestRate::MAX).and_then(|it| RequestRate::try_from(it).ok())
}

/// Reads a required rate, which can be zero.
fn any_rate(section: &Section, key: &'static str) -> Option<f64> {
    section.require(key, "write requests per second");
    section.number(key, 0.0..=RequestRate::MAX)
}

fn points(section: &Section) -> Option<Vec<RatePoint>> {
    let items = section.list("points")?;
    if items.is_empty() || items.len() > MAX_POINTS {
        section.problem("points", format!("holds {} points; write 1 to {MAX_POINTS}", items.len()));
        return None;
    }
    let mut points = Vec::with_capacity(items.len());
    let mut complete = true;
    for (path, value) in items {
        let Some(item) = section.element(value, path) else {
            complete = false;
            continue;
        };
        let (at, rate) = (stage_time(&item, "at"), any_rate(&item, "rate"));
        if let (Some(at), Some(last)) = (at, points.last().map(|it: &RatePoint| it.at))
            && at < last
        {
            item.problem("at", format!("is {at}, before the point above it, at {last}; sort the points by time"));
        }
        item.finish();
        complete &= at.is_some() && rate.is_some();
        points.extend(at.zip(rate).map(|(at, rate)| RatePoint { at, rate }));
    }
    complete.then_some(points)
}

fn sinusoid(section: &Section) -> Option<RateShape> {
    section.require("mean", "write the mean of the requests per second");
    section.require("period", "write the time from one peak to the next");
    let mean = some_rate(section, "mean");
    let amplitude = section.or_default("amplitude", 0.5, |it, key| it.number(key, 0.0..=1.0));
    let period = section.positive_span("period", MAX_STAGE_SECONDS);
    let phase = section.or_default("phase", Span::default(), |it, key| it.span(key, MAX_STAGE_SECONDS));
    Some(RateShape::Sinusoid { mean: mean?, amplitude: amplitude?, period: period?, phase: phase? })
}

fn ramp_up(section: &Section) -> Option<RateShape> {
    let strategies = [("linear", RampUpStrategy::Linear), ("exponential", RampUpStrategy::Exponential)];
    section.require("from", "write the requests per second of the first request");
    section.require("to", "write the requests per second of the last request");
    let strategy = section.or_default("strategy", RampUpStrategy::Linear, |it, key| it.choice(key, &strategies));
    let (from, to) = (some_rate(section, "from"), some_rate(section, "to"));
    Some(RateShape::RampUp { strategy: strategy?, from: from?, to: to? })
}

fn ramp(section: &Section, open: &Section, duration: Option<Span>) -> Option<RateShape> {
    let (from, to) = (any_rate(section, "from"), any_rate(section, "to"));
    let within = section.positive_span("within", MAX_STAGE_SECONDS).or(duration);
    if within.is_none() && open.value("duration").is_none() {
        section.require("within", "write how long the ramp takes, or the duration of the stage");
    }
    Some(lines(&[(Span::default(), from?), (within?, to?)]))
}

fn step(section: &Section) -> Option<RateShape> {
    let (from, to, at) = (any_rate(section, "from"), any_rate(section, "to"), stage_time(section, "at"));
    let (from, to, at) = (from?, to?, at?);
    Some(lines(&[(at, from), (at, to)]))
}

fn spike(section: &Section) -> Option<RateShape> {
    let (base, peak) = (any_rate(section, "base"), any_rate(section, "peak"));
    let (at, length) = (stage_time(section, "at"), stage_time(section, "length"));
    let (base, peak, at) = (base?, peak?, at?);
    // No stage is longer than this, so a longer spike never ends.
    let end = Span((at.0 + length?.0).min(Duration::from_secs(MAX_STAGE_SECONDS)));
    Some(lines(&[(at, base), (at, peak), (end, peak), (end, base)]))
}

fn lines(points: &[(Span, f64)]) -> RateShape {
    RateShape::Points(points.iter().map(|(at, rate)| RatePoint { at: *at, rate: *rate }).collect())
}
