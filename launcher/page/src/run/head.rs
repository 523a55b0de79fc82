//! The top of the page: the answer, what was measured, and why the run is invalid if it is.

use document::{
    ReasonDocument, ReportDocument,
    answer::{Answer, Tag},
};
use figures::Figure;
use serde::Serialize;

use super::tables::{Place, managed_server};
use crate::{
    table::{Table, cut},
    text,
    verdict::tone,
};

/// If the sentence has more characters than this, it is shown in a smaller font.
const LONG: usize = 120;

/// The content above the charts.
#[derive(Serialize)]
pub(super) struct Head {
    name: String,
    /// What was measured, when and for how long.
    meta: Vec<String>,
    /// The answer, as a sentence.
    pub(super) sentence: String,
    /// Whether the sentence needs a smaller font.
    is_long: bool,
    tags: Vec<TagView>,
    reasons: Vec<Fact>,
    is_partial: bool,
    /// Everything in `meta` without abbreviation, as names and values.
    facts: Vec<Fact>,
    /// The table of the server that was started for the run, if it died: that is then the main message of the page.
    dead_server: Option<Table>,
    written_by: String,
}

/// A verdict.
#[derive(Serialize)]
struct TagView {
    sign: &'static str,
    tone: &'static str,
    text: String,
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
        let Answer { sentence, tags } = Answer::new(document);
        let tag = |it: Tag| TagView { sign: it.state.sign(), tone: tone(it.state), text: cut(&it.text) };
        let reasons = document.reasons.iter().filter(|it| !it.message.is_empty());
        // If the sentence already contains this message, the message is not repeated.
        let message = |it: &ReasonDocument| match sentence.contains(it.message.trim_end_matches('.')) {
            true => String::new(),
            false => it.message.clone(),
        };
        Head {
            name: cut(&document.run.title()),
            meta: meta(document),
            tags: tags.into_iter().map(tag).collect(),
            reasons: reasons.map(|it| Fact::new(&it.reason, message(it))).collect(),
            is_long: sentence.chars().count() > LONG,
            sentence: cut(&sentence),
            is_partial: document.partial,
            facts: facts(document),
            dead_server: managed_server(document, Place::First),
            written_by: cut(&format!("{} (commit {})", document.tool_version, document.tool_commit)),
        }
    }
}

fn meta(document: &ReportDocument) -> Vec<String> {
    let mean = |figure| document.figures.statistics(figure).map(|it| text::short(it.mean));
    let lengths = mean(Figure::Isl).zip(mean(Figure::Osl));
    let hardware = document.hardware.as_ref().map(|it| {
        let name = it.accelerator.as_deref().unwrap_or("accelerators");
        format!("{} x {name}", it.accelerators)
    });
    let meta = [
        Some(format!("{} on {}", document.model, engine(document).unwrap_or_else(|| "an unknown server".to_owned()))),
        hardware,
        lengths.map(|(input, output)| format!("{input} tokens in, {output} out")),
        Some(text::minute(document.started)),
        Some(text::length(document.figures.duration_ms)),
    ];
    meta.into_iter().flatten().map(|it| cut(&it)).collect()
}

fn facts(document: &ReportDocument) -> Vec<Fact> {
    let run = &document.resolved_run;
    let stages = text::plural(document.stages.len() as u64, "stage");
    let mut facts = vec![
        Fact::new("Outcome", document.outcome.name()),
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

/// How the server identifies itself, in full.
fn server(document: &ReportDocument) -> String {
    let told = document.server.as_ref().map(|it| &it.before);
    let length = told.and_then(|it| it.max_model_len).map(|it| format!("at most {} tokens", text::count(it)));
    let revision = told.and_then(|it| it.model_revision.as_deref()).map(|it| format!("revision {it}"));
    let parts: Vec<String> = [engine(document), revision, length].into_iter().flatten().collect();
    if parts.is_empty() { "unknown: the server does not say what it is".to_owned() } else { parts.join(", ") }
}

/// The name and the version of the server, from `/v1/models` and `/version`, or from its metrics.
fn engine(document: &ReportDocument) -> Option<String> {
    let told = document.server.as_ref().map(|it| &it.before);
    let in_metrics = document.server_metrics.as_ref().and_then(|it| it.identity.first());
    let engine = told.and_then(|it| it.engine.as_deref()).or(in_metrics.and_then(|it| it.engine.as_deref()));
    let version = told.and_then(|it| it.version.as_deref()).or(in_metrics.and_then(|it| it.version.as_deref()));
    let simulator = told.and_then(|it| it.simulator.as_deref()).map(|it| format!("simulated by {it}"));
    let engine = match (engine, version) {
        (Some(engine), Some(version)) => Some(format!("{engine} {version}")),
        (one, other) => one.or(other).map(str::to_owned),
    };
    let parts: Vec<String> = [engine, simulator].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
