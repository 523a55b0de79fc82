//! The top of the page: what was measured, whether it counts, and how to repeat it.

use crds::{Met, Outcome, wording::percent};
use document::{LabelsDocument, ObjectiveDocument, ReportDocument, StageDocument};
use serde::Serialize;

use crate::{
    table::{cut, lines},
    text,
};

/// What stands above the tiles.
#[derive(Serialize)]
pub(super) struct Head {
    name: String,
    outcome: &'static str,
    /// `good`, `bad` or `doubt`: its colour.
    tone: &'static str,
    words: String,
    reasons: Vec<Fact>,
    facts: Vec<Fact>,
    labels: Vec<Fact>,
    warnings: Vec<String>,
    cache: Vec<String>,
    sureness: Vec<String>,
    again: Vec<String>,
    written_by: String,
}

/// A name and what it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Fact {
    name: String,
    value: String,
}

impl Fact {
    fn new(name: &str, value: impl AsRef<str>) -> Fact {
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
            labels: labels(&document.labels),
            warnings: warnings(document),
            cache: cache(document),
            sureness: match document.stages.as_slice() {
                [stage] => lines(sureness(stage)),
                // The tables have a row for each stage.
                _ => Vec::new(),
            },
            again: again(document),
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

/// Of a run that passed although an objective is not met; empty where all are met.
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

/// What the server says it is: at `/v1/models` and `/version`, else in its metrics.
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

/// What has to be equal in runs that are compared.
fn labels(labels: &LabelsDocument) -> Vec<Fact> {
    let LabelsDocument {
        arrivals,
        clock,
        tokens,
        itl,
        events,
        tpot,
        ntpot,
        percentiles,
        window,
        prompts,
        cache,
        failures,
    } = labels;
    [
        ("arrivals", arrivals),
        ("clock", clock),
        ("tokens", tokens),
        ("itl", itl),
        ("events", events),
        ("tpot", tpot),
        ("ntpot", ntpot),
        ("percentiles", percentiles),
        ("window", window),
        ("prompts", prompts),
        ("cache", cache),
        ("failures", failures),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(name, value)| Fact::new(name, value))
    .collect()
}

/// What is in doubt: the launcher's own part, the server's metrics, the cache.
fn warnings(document: &ReportDocument) -> Vec<String> {
    let own = document.self_judgement.remarks.iter().cloned();
    let server = document.server_metrics.iter().flat_map(|it| it.remarks.iter().cloned());
    let cache = match document.contamination.exposure.as_str() {
        "seen" => Some("The server had prompts of this load in its cache"),
        "possible" => Some("The server could have had these prompts in its cache before the run"),
        _ => None,
    };
    let cache = cache.map(|it| format!("{it}: {}.", document.contamination.why.trim_end_matches('.')));
    lines(own.chain(server).chain(cache))
}

fn cache(document: &ReportDocument) -> Vec<String> {
    let it = &document.contamination;
    let answer = match it.exposure.as_str() {
        "unlikely" => "The server can hardly have had these prompts in its cache",
        "withinRun" => {
            "The server had no prompt of this run in its cache before, and may reuse those of the run itself"
        }
        "possible" => "The server could have had these prompts in its cache before the run",
        "seen" => "The server had prompts of this load in its cache",
        other => other,
    };
    let cached = match it.cached_share {
        Some(share) => format!(
            "By the usage of the answers {} of the prompt tokens came from the prefix cache, in {} requests.",
            percent(share),
            text::count(it.requests_with_cached_tokens.unwrap_or_default())
        ),
        None => "No answer reports cached tokens; that does not mean that there were none.".to_owned(),
    };
    let warm_up = it.warm_up.as_ref().map(|it| {
        let prompts = match it.prompts.as_deref() {
            Some("other") => "their prompts are none of the measured ones",
            Some("sharedPrefixes") => "their prompts begin with prefixes of measured ones",
            Some("same") => "some of their prompts are measured ones too",
            _ => "whether their prompts are measured ones too is not known",
        };
        format!("{} requests of the warm-up are in no figure; {prompts}.", text::count(it.requests))
    });
    let why = format!("{answer}: {}.", it.why.trim_end_matches('.'));
    lines([Some(why), Some(cached), warm_up].into_iter().flatten())
}

/// Whether a stage was in a steady state, and Little's law.
fn sureness(stage: &StageDocument) -> Vec<String> {
    let it = &stage.uncertainty;
    if let Some(absent) = &it.absent {
        return vec![format!("Neither intervals nor a steady state: {absent}.")];
    }
    let window = it.steady_state.as_ref().and_then(|it| it.window.as_ref());
    let window = window.map(|it| format!(", from {}", text::times(it.from_ms, it.to_ms)));
    let state = it.steady_state.as_ref().map(|it| {
        let words = super::tables::steady_words(&it.status, &it.verdict);
        format!("The stage is {words}{}.", window.unwrap_or_default())
    });
    let law = it.littles_law.as_ref().map(|it| {
        format!(
            "Little's law: {} requests were under way on average; throughput x time of a request is {} (residual {}).",
            text::number(it.mean_concurrency),
            text::number(it.ended_per_second * it.mean_time_ms / 1e3),
            percent_with_sign(it.residual),
        )
    });
    state.into_iter().chain(law).collect()
}

fn percent_with_sign(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn again(document: &ReportDocument) -> Vec<String> {
    let salt = &document.seeds.prompt_salt;
    let seed = document.seeds.run.0;
    let prompts = match document.labels.prompts.as_str() {
        "fresh" | "shared" => Some(format!(
            "It sends the prompts of this run again, by profile.promptSalt {salt}. For new prompts remove promptSalt."
        )),
        "replayed" | "repeated" => Some(format!(
            "It sends the prompts of this run again, by seed {seed}: a server may have them in its cache. For new prompts set another spec.seed."
        )),
        _ => None,
    };
    lines(prompts)
}
