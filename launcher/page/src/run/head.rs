//! The top of the page: what was measured, and whether it counts.

use crds::{Met, Outcome};
use document::{ObjectiveDocument, ReportDocument};
use serde::Serialize;

use super::tables::{Place, managed_server};
use crate::{
    table::{Table, cut},
    text,
};

/// The content above the tiles.
#[derive(Serialize)]
pub(super) struct Head {
    name: String,
    outcome: &'static str,
    /// `good`, `bad` or `doubt`: its colour.
    tone: &'static str,
    words: String,
    reasons: Vec<Fact>,
    facts: Vec<Fact>,
    /// The server if it died, because that is the page's main message.
    dead_server: Option<Table>,
    written_by: String,
}

/// A name and a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Fact {
    name: String,
    value: String,
}

impl Fact {
    pub(super) fn new(name: &str, value: impl AsRef<str>) -> Fact {
        Fact { name: name.to_owned(), value: cut(value.as_ref()) }
    }
}

impl Head {
    pub(super) fn new(document: &ReportDocument) -> Head {
        let (tone, words) = verdict(document);
        let reasons = document.reasons.iter().filter(|it| !it.message.is_empty());
        Head {
            name: cut(&document.run.title()),
            outcome: document.outcome.name(),
            tone,
            words,
            reasons: reasons.map(|it| Fact::new(&it.reason, &it.message)).collect(),
            facts: facts(document),
            dead_server: managed_server(document, Place::First),
            written_by: cut(&format!("{} (commit {})", document.tool_version, document.tool_commit)),
        }
    }
}

fn verdict(document: &ReportDocument) -> (&'static str, String) {
    let not_met = not_met(&document.objectives);
    let (tone, words) = match document.outcome {
        Outcome::Passed if !not_met.is_empty() => ("doubt", not_met.as_str()),
        Outcome::Passed if !document.objectives.is_empty() => {
            ("good", "The measurement is valid, and every objective is met.")
        }
        Outcome::Passed => (
            "good",
            "The measurement is valid. No objective was set, so that this is no word on how fast the server is.",
        ),
        Outcome::SLOViolated => ("bad", "The measurement is valid, and an objective is missed."),
        Outcome::Inconclusive => ("doubt", "The measurement is valid, and does not decide every objective."),
        Outcome::Invalid => ("bad", "These figures do not count, for the reasons below."),
        Outcome::Error => ("bad", "There are no figures, for the reasons below."),
        Outcome::Cancelled => ("doubt", "The run was cancelled; its figures are of the part before."),
    };
    let mut words = words.to_owned();
    if document.partial {
        words
            .push_str(" The run was stopped before all its requests had ended: the figures are of a part of the load.");
    }
    (tone, words)
}

/// A note if a run passed although an objective is not met; empty if all are met.
fn not_met(objectives: &[ObjectiveDocument]) -> String {
    let count = |met| objectives.iter().filter(|it| it.met == met).count();
    let (missed, inconclusive) = (count(Met::False), count(Met::Inconclusive));
    let verb = |number| if number == 1 { "is" } else { "are" };
    let of = objectives.len();
    let what = match (missed, inconclusive) {
        (0, 0) => return String::new(),
        (0, number) => format!("{number} of {of} objectives {} inconclusive", verb(number)),
        (number, 0) => format!("{number} of {of} objectives {} missed", verb(number)),
        (missed, inconclusive) => {
            format!("{missed} of {of} objectives {} missed, and {inconclusive} inconclusive", verb(missed))
        }
    };
    format!(
        "The measurement is valid. {what}; spec.slo.enforcement is Report, so that this does not change the outcome."
    )
}

fn facts(document: &ReportDocument) -> Vec<Fact> {
    let run = &document.resolved_run;
    let stages = text::plural(document.stages.len() as u64, "stage");
    let mut facts = vec![
        Fact::new("Model", &document.model),
        Fact::new("Target", run.endpoint.name()),
        Fact::new("Server", server(document)),
        Fact::new("Profile", format!("{}, {}, {stages}", run.harness.name(), report::profile(run))),
        Fact::new("Started", text::second(document.started)),
        Fact::new("Duration", text::time(document.figures.duration_ms)),
    ];
    facts.extend(document.hardware.as_ref().map(|it| {
        let name = it.accelerator.as_deref().unwrap_or("accelerators");
        Fact::new("Hardware, as the user says", format!("{} x {name}", it.accelerators))
    }));
    facts
}

/// How the server identifies itself: at `/v1/models` and `/version`, otherwise in its metrics.
fn server(document: &ReportDocument) -> String {
    let told = document.server.as_ref().map(|it| &it.before);
    let in_metrics = document.server_metrics.as_ref().and_then(|it| it.identity.first());
    let engine = told.and_then(|it| it.engine.as_deref()).or(in_metrics.and_then(|it| it.engine.as_deref()));
    let version = told.and_then(|it| it.version.as_deref()).or(in_metrics.and_then(|it| it.version.as_deref()));
    let simulator = told.and_then(|it| it.simulator.as_deref()).map(|it| format!("simulated by {it}"));
    let length = told.and_then(|it| it.max_model_len).map(|it| format!("at most {} tokens", text::count(it)));
    let revision = told.and_then(|it| it.model_revision.as_deref()).map(|it| format!("revision {it}"));
    let engine = match (engine, version) {
        (Some(engine), Some(version)) => Some(format!("{engine} {version}")),
        (one, other) => one.or(other).map(str::to_owned),
    };
    let parts: Vec<String> = [engine, simulator, revision, length].into_iter().flatten().collect();
    if parts.is_empty() { "unknown: the server does not say what it is".to_owned() } else { parts.join(", ") }
}
