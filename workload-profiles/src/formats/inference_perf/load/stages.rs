//! `load.stages`: stages with explicit rates or concurrency levels.

use std::time::Duration;

use crds::units::{RequestRate, Span};

use super::Type;
use crate::{
    formats::{
        common::{
            bounds::{MAX_CONCURRENCY, MAX_STAGE_SECONDS, MAX_STAGES},
            fields::{concurrency, request_count},
            stage_names::StageNames,
        },
        inference_perf::{trace::Recording, values::span},
    },
    reader::Section,
    workload::{Arrivals, Load, MAX_REQUESTS, Rate, Stage},
};

/// Maximum length of a stage, in seconds.
const MAX_STAGE: f64 = MAX_STAGE_SECONDS as f64;

/// Reads the stages. `pause` is the pause between two stages. Returns `None` if at least one problem was reported.
pub(super) fn read(
    section: &Section,
    kind: Option<Type>,
    trace: Option<&(Recording, bool)>,
    pause: Span,
) -> Option<Vec<Stage>> {
    section.require("stages", "write at least one stage, such as {rate: 1, duration: 30}");
    let items = section.list("stages")?;
    if items.is_empty() || items.len() > MAX_STAGES {
        section.problem("stages", format!("holds {} stages; write 1 to {MAX_STAGES}", items.len()));
        return None;
    }
    let last = items.len() - 1;
    let mut names = StageNames::default();
    let mut stages = Vec::with_capacity(items.len());
    let mut complete = true;
    for (index, (path, value)) in items.into_iter().enumerate() {
        // inference-perf also pauses after the last stage. This has no effect on the load, so there is no pause here.
        let pause_after = if index == last { Span(Duration::ZERO) } else { pause };
        let read = section.element(value, path).and_then(|it| stage(it, kind?, trace));
        complete &= read.is_some();
        stages.extend(read.map(|(load, grace)| Stage { pause_after, grace, ..Stage::new(names.name(&load), load) }));
    }
    let requests = stages.iter().filter_map(|it| it.load.count()).fold(0, u64::saturating_add);
    if requests > MAX_REQUESTS {
        section.problem("stages", format!("ask for {requests} requests in all; a run sends at most {MAX_REQUESTS}, so lower a rate or shorten a stage"));
    }
    complete.then_some(stages)
}

/// Reads one stage. Returns its load, and how long its requests can run after its end. The type of the load decides which keys a stage has.
fn stage(stage: Section, kind: Type, trace: Option<&(Recording, bool)>) -> Option<(Load, Option<Span>)> {
    const OPEN: &str = "constant, poisson or trace_replay";
    const CLOSED: &str = "concurrent";
    const SESSIONS: &str = "trace_session_replay";
    let (own, load) = match kind {
        Type::Open(arrivals) => (OPEN, open(&stage, arrivals).map(|it| (it, None))),
        Type::Trace => (OPEN, replay(&stage, trace).map(|it| (it, None))),
        Type::Closed => (CLOSED, closed(&stage).map(|it| (it, None))),
        Type::Sessions => (SESSIONS, sessions(&stage)),
    };
    for (key, belongs) in [
        ("rate", OPEN),
        ("duration", OPEN),
        ("num_requests", CLOSED),
        ("concurrency_level", CLOSED),
        ("concurrent_sessions", SESSIONS),
        ("session_rate", SESSIONS),
        ("num_sessions", SESSIONS),
        ("timeout", SESSIONS),
    ] {
        if belongs != own && stage.value(key).is_some() {
            stage.problem(key, format!("belongs to a load of type {belongs}; take it out, or change load.type"));
        }
    }
    stage.finish();
    load
}

fn open(stage: &Section, arrivals: Arrivals) -> Option<Load> {
    stage.require("rate", "write the requests per second");
    stage.require("duration", "write its length in seconds");
    let rate = stage.positive_number("rate", RequestRate::MAX);
    let seconds = stage.positive_number("duration", MAX_STAGE);
    let (rate, seconds) = (rate?, seconds?);
    let steady = Rate::Steady(RequestRate::try_from(rate).ok()?);
    // inference-perf's number of requests per stage, floor(rate x duration), computed with the same floating-point arithmetic.
    let requests = steady.requests_until(seconds)?.floor();
    if requests < 1.0 {
        stage.problem(
            "rate",
            format!("is {rate}, which in {seconds} s gives less than one request; raise it or the duration"),
        );
        return None;
    }
    // The cast is exact: 1,000,000 requests per second for a week are far below 2^53.
    let count = requests as u64;
    Some(Load::Open {
        arrivals,
        rate: steady,
        duration: Some(span(seconds)?),
        count: Some(count),
        max_concurrency: None,
    })
}

/// Reads a stage of a replay. As in inference-perf, rate and duration only set the number of rows to replay. If the trace also contains the lengths,
/// all rows are replayed, and rate and duration have no effect.
fn replay(stage: &Section, trace: Option<&(Recording, bool)>) -> Option<Load> {
    let count = open(stage, Arrivals::Poisson)?.count();
    let (recording, lengths) = trace?;
    if *lengths {
        stage.notice("rate", "is not used, nor is duration: as in inference-perf, all rows of data.trace are sent");
    }
    Some(recording.load(count.filter(|_| !lengths), *lengths))
}

fn closed(stage: &Section) -> Option<Load> {
    stage.require("concurrency_level", "write how many requests are in flight");
    stage.require("num_requests", "write how many requests are sent in all");
    let concurrency = concurrency(stage, "concurrency_level");
    let count = request_count(stage, "num_requests");
    Some(Load::closed(concurrency?, count?))
}

/// Reads a stage of sessions. Each running session occupies a slot. At its timeout, a stage cancels the sessions in flight and starts no more.
fn sessions(stage: &Section) -> Option<(Load, Option<Span>)> {
    stage.require("concurrent_sessions", "write how many sessions are active, or 0 for all");
    let slots = stage.count_u32("concurrent_sessions", 0..=MAX_CONCURRENCY);
    let count = request_count(stage, "num_sessions");
    let rate = stage.positive_number("session_rate", RequestRate::MAX);
    if let (Some(rate), Some(slots)) = (rate, slots.filter(|it| *it > 0))
        && rate > f64::from(slots)
    {
        stage.problem("session_rate", format!("is {rate}, above concurrent_sessions, which is {slots}; lower it"));
    }
    let timeout = stage.positive_number("timeout", MAX_STAGE);
    let most = u32::try_from(MAX_CONCURRENCY).unwrap_or(u32::MAX);
    let concurrency = match slots? {
        0 => count.and_then(|it| u32::try_from(it).ok()).unwrap_or(most).min(most),
        slots => slots,
    };
    let load = Load::Closed {
        concurrency,
        count,
        duration: timeout.and_then(span),
        ramp_up: Span::default(),
        start_rate: rate.and_then(|it| RequestRate::try_from(it).ok()),
    };
    Some((load, timeout.map(|_| Span::default())))
}
