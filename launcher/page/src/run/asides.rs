//! The columns below the summary: caveats, steady state, cache, labels, and how to repeat the run.

use crds::wording::percent;
use document::{LabelsDocument, ReportDocument, Section, StageDocument};
use serde::Serialize;

use super::{head::Fact, tables::steady_words};
use crate::{table::lines, text};

/// A column.
#[derive(Default, Serialize)]
pub(super) struct Aside {
    id: &'static str,
    title: &'static str,
    lines: Vec<String>,
    labels: Vec<Fact>,
}

/// Caveats; `None` if there are none.
pub(super) fn warnings(document: &ReportDocument) -> Option<Aside> {
    Aside { id: "warnings", title: "What is in doubt", lines: doubts(document), ..Aside::default() }.filled()
}

/// For a run of one stage. For several stages, the tables have a row per stage.
pub(super) fn steady_state(document: &ReportDocument) -> Option<Aside> {
    let [stage] = document.stages.as_slice() else { return None };
    let title = "Steady state and Little's law";
    Aside { id: "state", title, lines: lines(sureness(stage)), ..Aside::default() }.filled()
}

pub(super) fn cache(document: &ReportDocument) -> Aside {
    Aside { id: "cache", title: Section::Contamination.title(), lines: exposure(document), ..Aside::default() }
}

/// The labels that must be equal in compared runs.
pub(super) fn labels(labels: &LabelsDocument) -> Aside {
    let title = "Comparable with runs of the same labels";
    let labels = labels.named().map(|(name, value)| Fact::new(name, value)).collect();
    Aside { id: "labels", title, labels, ..Aside::default() }
}

pub(super) fn again(document: &ReportDocument) -> Aside {
    Aside { id: "again", title: Section::Repeat.title(), lines: prompts(document), ..Aside::default() }
}

impl Aside {
    /// `None` if it has no line.
    fn filled(self) -> Option<Aside> {
        (!self.lines.is_empty()).then_some(self)
    }
}

/// Caveats: about the launcher, the server's metrics, and the cache.
fn doubts(document: &ReportDocument) -> Vec<String> {
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

fn exposure(document: &ReportDocument) -> Vec<String> {
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
        let words = steady_words(&it.status, &it.verdict);
        format!("The stage is {words}{}.", window.unwrap_or_default())
    });
    let law = it.littles_law.as_ref().map(|it| {
        format!(
            "Little's law: {} requests were under way on average; throughput x time of a request is {} (residual {}).",
            text::number(it.mean_concurrency),
            text::number(it.ended_per_second * it.mean_time_ms / 1e3),
            text::signed_percent(it.residual),
        )
    });
    state.into_iter().chain(law).collect()
}

fn prompts(document: &ReportDocument) -> Vec<String> {
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
