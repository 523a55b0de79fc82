//! Section `load`: when requests are sent.

use std::time::Duration;

use crds::units::{RequestRate, Span};

use super::{
    trace::Recording,
    values::{span, unsupported},
};
use crate::{
    formats::common::{
        bounds::{self, MAX_STAGES},
        fields::{concurrency, request_count},
        stage_names::StageNames,
    },
    reader::{Section, ValueType},
    workload::{Arrivals, Load, MAX_REQUESTS, Rate, Stage},
};

/// The longest stage, and the longest pause and request, in seconds.
const MAX_STAGE: f64 = bounds::MAX_STAGE_SECONDS as f64;
const MAX_PAUSE: f64 = bounds::MAX_PAUSE_SECONDS as f64;
/// The pause after a stage when none is given, in seconds, as in the original.
const DEFAULT_INTERVAL: f64 = 1.0;
/// The longest request when none is given, in seconds: what the original's HTTP client allows.
const DEFAULT_TIMEOUT: f64 = 300.0;

const SUPPORTED: [&str; 4] = ["constant", "poisson", "concurrent", "trace_replay"];

/// The section as it was read.
pub(super) struct LoadSection {
    pub stages: Vec<Stage>,
    pub request_timeout: Span,
}

#[derive(Clone, Copy)]
enum Type {
    Open(Arrivals),
    Closed,
    Trace,
    Unsupported(&'static str),
}

/// Reads the section; `None` goes with at least one problem. `lengths` is the file with recorded lengths, if any.
pub(super) fn read(section: Section, lengths: Option<&Recording>) -> Option<LoadSection> {
    let types = [
        // The original draws exponential gaps for `constant` too: its requests are not evenly spaced.
        ("constant", Type::Open(Arrivals::ConditionedPoisson)),
        ("poisson", Type::Open(Arrivals::PoissonPerSecond)),
        ("concurrent", Type::Closed),
        ("trace_replay", Type::Trace),
        ("trace_session_replay", Type::Unsupported("trace_session_replay")),
    ];
    let kind = match section.value("type") {
        Some(_) => section.choice("type", &types),
        None => Some(types[0].1),
    };
    if let Some(Type::Unsupported(name)) = kind {
        section.problem("type", unsupported(name, &SUPPORTED));
        // Problems with the other keys would not help: they belong to that type.
        return None;
    }
    refuse(&section);
    without_meaning(&section, kind);
    let trace = trace(&section, kind, lengths);
    let interval = section.number("interval", 0.0..=MAX_PAUSE).unwrap_or(DEFAULT_INTERVAL);
    let timeout = section.positive_number("request_timeout", MAX_PAUSE).unwrap_or(DEFAULT_TIMEOUT);
    let stages = stages(&section, kind, &trace, span(interval)?);
    section.finish();
    Some(LoadSection { stages: stages?, request_timeout: span(timeout)? })
}

/// The trace that a load of type trace_replay replays, and whether it also gives the lengths.
fn trace(section: &Section, kind: Option<Type>, lengths: Option<&Recording>) -> Option<(Recording, bool)> {
    if !matches!(kind, Some(Type::Trace)) {
        if section.value("trace").is_some() {
            section.problem("trace", "belongs to a load of type trace_replay; take it out, or change load.type");
        }
        if lengths.is_some() {
            section.problem(
                "type",
                "is not trace_replay, and data.trace is supported only with that; take data.trace out",
            );
        }
        return None;
    }
    section.require("trace", "write the file to replay, such as {file: /data/trace.csv}");
    let recording = Recording::read(section, "trace")?;
    if lengths.is_some_and(|it| *it != recording) {
        section.problem(
            "trace",
            "is another file than data.trace; write the same file in both, because each request has its time and its lengths from one row",
        );
    }
    section.notice("trace", "is replayed at the exact times; inference-perf shortens them to hundredths of a second");
    Some((recording, lengths.is_some()))
}

fn refuse(section: &Section) {
    if section.value("sweep").is_some() {
        section.problem("sweep", "is not supported yet; write its stages out under load.stages");
    }
    if section.list("lora_traffic_split").is_some_and(|it| !it.is_empty()) {
        section.problem("lora_traffic_split", "is not supported yet; name one adapter in server.model_name");
    }
    if section.list("circuit_breakers").is_some_and(|it| !it.is_empty()) {
        section.problem("circuit_breakers", "would end a stage early, which is not supported yet; take it out");
    }
}

fn without_meaning(section: &Section, kind: Option<Type>) {
    section.all_ignored(&[("num_workers", ValueType::Number), ("worker_max_tcp_connections", ValueType::Number)]);
    if section.ignored("worker_max_concurrency", ValueType::Number) && matches!(kind, Some(Type::Open(_) | Type::Trace))
    {
        section.notice(
            "worker_max_concurrency",
            "is not used: the number of requests under way does not slow an open loop",
        );
    }
    if section.ignored("base_seed", ValueType::Number) {
        section.notice("base_seed", "is not used: the seed of the run decides every draw");
    }
}

fn stages(section: &Section, kind: Option<Type>, trace: &Option<(Recording, bool)>, pause: Span) -> Option<Vec<Stage>> {
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
        // The original also pauses after the last stage. No request follows it, so here there is no pause.
        let pause_after = if index == last { Span(Duration::ZERO) } else { pause };
        let load = section.element(value, path).and_then(|it| stage(it, kind?, trace.as_ref()));
        complete &= load.is_some();
        stages.extend(load.map(|load| Stage { pause_after, ..Stage::new(names.name(&load), load) }));
    }
    let requests = stages.iter().filter_map(|it| it.load.count()).fold(0, u64::saturating_add);
    if requests > MAX_REQUESTS {
        section.problem("stages", format!("ask for {requests} requests in all; a run sends at most {MAX_REQUESTS}, so lower a rate or shorten a stage"));
    }
    complete.then_some(stages)
}

/// One stage; its shape depends on the type of the load.
fn stage(stage: Section, kind: Type, trace: Option<&(Recording, bool)>) -> Option<Load> {
    let load = match kind {
        Type::Open(arrivals) => open(&stage, arrivals),
        // As in the original, the rate and the duration only give the number of rows that are replayed.
        Type::Trace => open(&stage, Arrivals::Poisson)
            .and_then(|it| it.count())
            .and_then(|count| trace.map(|(recording, lengths)| recording.load(count, *lengths))),
        _ => closed(&stage),
    };
    for (key, belongs) in [
        ("rate", "constant, poisson or trace_replay"),
        ("duration", "constant, poisson or trace_replay"),
        ("num_requests", "concurrent"),
        ("concurrency_level", "concurrent"),
    ] {
        let fits = matches!(kind, Type::Open(_) | Type::Trace) == belongs.starts_with("constant");
        if !fits && stage.value(key).is_some() {
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
    // The original's count of a stage, in floating point as there: floor(rate x duration).
    let requests = steady.requests_until(seconds)?.floor();
    if requests < 1.0 {
        stage.problem(
            "rate",
            format!("is {rate}, which in {seconds} s gives less than one request; raise it or the duration"),
        );
        return None;
    }
    // Exact: at most 1,000,000 requests per second for a week, far below 2^53.
    let count = requests as u64;
    Some(Load::Open {
        arrivals,
        rate: steady,
        duration: Some(span(seconds)?),
        count: Some(count),
        max_concurrency: None,
    })
}

fn closed(stage: &Section) -> Option<Load> {
    stage.require("concurrency_level", "write how many requests are under way at once");
    stage.require("num_requests", "write how many requests are sent in all");
    let concurrency = concurrency(stage, "concurrency_level");
    let count = request_count(stage, "num_requests");
    Some(Load::closed(concurrency?, count?))
}
