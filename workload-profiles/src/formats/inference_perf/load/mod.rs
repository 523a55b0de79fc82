//! Section `load`: when requests are sent.

mod classes;
mod stages;
mod sweep;

use crds::units::Span;
use serde_json::Value;

use super::{data::DataSection, trace::Recording, values::span};
use crate::{
    formats::common::bounds::MAX_PAUSE_SECONDS,
    reader::{Section, ValueType},
    workload::{Arrivals, RequestSource, Stage, TrafficClasses, Unit},
};

/// Maximum length of a pause and of a request, in seconds.
const MAX_PAUSE: f64 = MAX_PAUSE_SECONDS as f64;
/// Default pause after a stage, in seconds, as in inference-perf.
const DEFAULT_INTERVAL: f64 = 1.0;
/// Default request timeout, in seconds: the limit of inference-perf's HTTP client.
const DEFAULT_TIMEOUT: f64 = 300.0;

/// The content of the section.
pub(super) struct LoadSection {
    pub stages: Vec<Stage>,
    pub request_timeout: Span,
    pub classes: TrafficClasses,
    /// The names of the enabled circuit breakers.
    pub circuit_breakers: Vec<String>,
    /// Whether the stages start requests or sessions.
    pub unit: Unit,
}

#[derive(Clone, Copy, PartialEq)]
enum Type {
    Open(Arrivals),
    Closed,
    Trace,
    Sessions,
}

const TYPES: [(&str, Type); 5] = [
    // As in inference-perf, `constant` has exponential gaps although its name suggests evenly spaced requests.
    ("constant", Type::Open(Arrivals::ConditionedPoisson)),
    ("poisson", Type::Open(Arrivals::PoissonPerSecond)),
    ("concurrent", Type::Closed),
    ("trace_replay", Type::Trace),
    ("trace_session_replay", Type::Sessions),
];

/// Reads the section. `data` is the content of the requests, if it is known. Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section, data: Option<&DataSection>) -> Option<LoadSection> {
    let kind = section.or_default("type", TYPES[0].1, |it, key| it.choice(key, &TYPES));
    without_meaning(&section, kind);
    if let (Some(kind), Some(data)) = (kind, data) {
        check_sessions(&section, kind, data);
    }
    let trace = trace(&section, kind, data.and_then(|it| it.trace.as_ref()));
    let classes = classes::read(&section);
    let circuit_breakers = names(&section);
    let interval = section.number("interval", 0.0..=MAX_PAUSE).unwrap_or(DEFAULT_INTERVAL);
    let timeout = section.positive_number("request_timeout", MAX_PAUSE).unwrap_or(DEFAULT_TIMEOUT);
    let pause = span(interval)?;
    let stages = match section.value("sweep") {
        Some(_) => sweep::read(&section, kind, pause),
        None => stages::read(&section, kind, trace.as_ref(), pause),
    };
    section.finish();
    Some(LoadSection {
        stages: stages?,
        request_timeout: span(timeout)?,
        classes: classes?,
        circuit_breakers,
        unit: if kind? == Type::Sessions { Unit::Session } else { Unit::Request },
    })
}

/// Returns the trace of a load of type trace_replay. The second value is true if the trace also contains the lengths.
fn trace(section: &Section, kind: Option<Type>, lengths: Option<&Recording>) -> Option<(Recording, bool)> {
    if !matches!(kind, Some(Type::Trace)) {
        if section.value("trace").is_some() {
            section.problem("trace", "belongs to a load of type trace_replay; take it out, or change load.type");
        }
        if lengths.is_some() {
            section.problem(
                "type",
                "is not trace_replay, and data.trace is supported only with trace_replay; take data.trace out",
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
    section.notice(
        "trace",
        "is replayed at the exact times; inference-perf shortens them to hundredths of a second up to version 0.6.1",
    );
    Some((recording, lengths.is_some()))
}

/// Adds a problem for recorded sessions in a load that does not send sessions, and for a session load without recorded sessions.
fn check_sessions(section: &Section, kind: Type, data: &DataSection) {
    let is_recorded = matches!(data.requests, RequestSource::Recorded(_));
    if is_recorded && kind != Type::Sessions {
        section.problem("type", "is not trace_session_replay, which recorded sessions need; write it, and stages such as {concurrent_sessions: 4}");
    } else if !is_recorded && kind == Type::Sessions {
        section.problem("type", "is trace_session_replay, which needs data of type otel_trace_replay or weka_trace_replay; change one of them");
    }
}

/// Reads the names of the enabled circuit breakers.
fn names(section: &Section) -> Vec<String> {
    let mut names = Vec::new();
    for (index, (_, value)) in section.list("circuit_breakers").unwrap_or_default().into_iter().enumerate() {
        match value {
            Value::String(name) => names.push(name.clone()),
            _ => section.problem(
                &format!("circuit_breakers[{index}]"),
                "is no text; write the name of one of the circuit_breakers at the root",
            ),
        }
    }
    names
}

fn without_meaning(section: &Section, kind: Option<Type>) {
    section.all_ignored(&[
        ("num_workers", ValueType::Number),
        ("worker_max_tcp_connections", ValueType::Number),
        ("request_retry_backoff_sec", ValueType::Number),
        ("stage_teardown_grace_seconds", ValueType::Number),
    ]);
    if section.number("request_retries", 0.0..=f64::MAX).is_some_and(|it| it > 0.0) {
        section.notice(
            "request_retries",
            "is not used: a request whose connection fails is not sent again, and is reported as failed",
        );
    }
    if section.ignored("worker_max_concurrency", ValueType::Number) && matches!(kind, Some(Type::Open(_) | Type::Trace))
    {
        section.notice(
            "worker_max_concurrency",
            "is not used: the number of requests in flight does not slow an open loop",
        );
    }
    if section.ignored("base_seed", ValueType::Number) {
        section.notice("base_seed", "is not used: the seed of the run decides every draw");
    }
}
