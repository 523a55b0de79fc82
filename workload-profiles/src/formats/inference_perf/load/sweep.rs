//! `load.sweep`: a burst that measures the server's saturation rate, then stages up to this rate.

use std::time::Duration;

use crds::units::{RequestRate, Span};

use super::Type;
use crate::{
    formats::{
        common::{
            bounds::{MAX_PAUSE_SECONDS, MAX_STAGE_SECONDS, MAX_STAGES},
            fields::request_count,
            stage_names::StageNames,
        },
        inference_perf::values::span,
    },
    reader::{Section, ValueType},
    workload::{Arrivals, Load, Margin, MeasuredRate, Rate, RateBound, RateShape, Spacing, Stage},
};

/// How long the burst is sent, in seconds.
const BURST_SECONDS: u32 = 5;
/// Minimum rate, in requests per second.
const LOWEST_RATE: f64 = 1.0;
/// inference-perf's defaults: requests in the burst, its timeout in seconds, number of stages, duration of a stage in seconds, and percentile.
const DEFAULT_REQUESTS: u64 = 2000;
const DEFAULT_TIMEOUT: f64 = 60.0;
const DEFAULT_STAGES: u32 = 5;
const DEFAULT_DURATION: f64 = 180.0;
const DEFAULT_PERCENTILE: f64 = 95.0;

/// Reads the section. `pause` is the pause between two stages. Returns `None` if at least one problem was reported.
pub(super) fn read(load: &Section, kind: Option<Type>, pause: Span) -> Option<Vec<Stage>> {
    let section = load.section("sweep")?;
    if load.ignored("stages", ValueType::List) {
        load.notice("stages", "is not used: load.sweep makes the stages");
    }
    section.require("type", "write linear or geometric");
    let spacing = section.choice("type", &[("linear", Spacing::Linear), ("geometric", Spacing::TowardsEnd)]);
    let requests = section.or_default("num_requests", DEFAULT_REQUESTS, request_count);
    let timeout =
        section.or_default("timeout", DEFAULT_TIMEOUT, |it, key| it.positive_number(key, MAX_PAUSE_SECONDS as f64));
    let count =
        section.or_default("num_stages", DEFAULT_STAGES, |it, key| it.count_u32(key, 1..=MAX_STAGES as u64 - 1));
    let seconds = section
        .or_default("stage_duration", DEFAULT_DURATION, |it, key| it.positive_number(key, MAX_STAGE_SECONDS as f64));
    let percentile =
        section.or_default("saturation_percentile", DEFAULT_PERCENTILE, |it, key| it.number(key, 0.0..=100.0));
    section.finish();
    let arrivals = match kind? {
        Type::Open(arrivals) => arrivals,
        Type::Closed | Type::Trace | Type::Sessions => {
            load.problem("sweep", "needs a load of type constant or poisson; take it out, or change load.type");
            return None;
        }
    };
    let duration = span(seconds?)?;
    let to = RateBound::Drain { stage: 0, percentile: percentile? };
    let from = RateBound::Rate(RequestRate::try_from(LOWEST_RATE).ok()?);
    let (count, spacing) = (count?, spacing?);
    let mut stages = vec![burst(arrivals, requests?, timeout?, pause)?];
    let mut names = StageNames::default();
    for index in 0..count {
        let last = index + 1 == count;
        let position = if count == 1 { 0.0 } else { f64::from(index) / f64::from(count - 1) };
        let load = Load::Open {
            arrivals,
            rate: Rate::Varying(RateShape::Measured(MeasuredRate { from, to, position, spacing })),
            duration: Some(duration),
            count: None,
            max_concurrency: None,
        };
        let pause_after = if last { Span(Duration::ZERO) } else { pause };
        stages.push(Stage { pause_after, ..Stage::new(names.name(&load), load) });
    }
    Some(stages)
}

/// Returns the stage whose requests saturate the server. Its requests are not in the figures.
fn burst(arrivals: Arrivals, requests: u64, timeout: f64, pause_after: Span) -> Option<Stage> {
    let seconds = f64::from(BURST_SECONDS);
    let load = Load::Open {
        arrivals,
        rate: Rate::Steady(RequestRate::try_from(requests as f64 / seconds).ok()?),
        duration: span(seconds),
        count: Some(requests),
        max_concurrency: None,
    };
    let grace = span((timeout - seconds).max(0.0));
    Some(Stage { pause_after, warm_up: Some(Margin::All), grace, ..Stage::new("saturation", load) })
}
