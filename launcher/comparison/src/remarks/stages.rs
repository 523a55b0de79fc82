//! Remarks on differences between two stages, other than in their labels.

use ::document::{FiguresDocument, StageDocument, Statistics};
use crds::figure::rate_text;
use workload_profiles::workload::Load;

use super::{
    paths,
    remark::{Remark, Severity},
};
use crate::stages::{self, shape};

/// A note is made if mean lengths differ by more than this share.
const LENGTHS_APART: f64 = 0.05;
/// A note is made if the shares of cached prompt tokens differ by more than this.
const CACHED_APART: f64 = 0.1;

pub(super) fn of_stages(base: &StageDocument, other: &StageDocument) -> Vec<Remark> {
    let mut found = Vec::new();
    found.extend(not_run(base, other));
    found.extend(invalid(base, other));
    found.extend(load(base, other));
    found.extend(length(base, other));
    let is_loadgen = [base, other].iter().any(|it| matches!(it.load, Load::LoadGen { .. }));
    let loadgen =
        "these figures come from its requests; LoadGen's own figures are in summary.json, and have no intervals";
    found.extend(is_loadgen.then(|| Remark::new(Severity::Note, "LoadGen", "", "", loadgen)));
    found.extend(overload(base, other));
    found.extend(steady_state(base, other));
    found.extend(lengths(base, other));
    found.extend(cached(&base.figures, &other.figures));
    found
}

fn not_run(base: &StageDocument, other: &StageDocument) -> Option<Remark> {
    let text = |it: &StageDocument| it.not_run.as_deref().map_or("run".to_owned(), |why| format!("not run: {why}"));
    let is_missing = base.not_run.is_some() || other.not_run.is_some();
    let meaning = "a stage that was not run has no figures; repeat the run";
    is_missing.then(|| Remark::new(Severity::NotComparable, "stage", text(base), text(other), meaning))
}

fn invalid(base: &StageDocument, other: &StageDocument) -> Option<Remark> {
    let text = |it: &StageDocument| it.invalid.first().map_or("valid".to_owned(), |why| format!("not valid: {why}"));
    let is_invalid = !base.invalid.is_empty() || !other.invalid.is_empty();
    let meaning = "the launcher disturbed the stage, so its figures do not describe the server; repeat the run";
    is_invalid.then(|| Remark::new(Severity::NotComparable, "stage", text(base), text(other), meaning))
}

fn load(base: &StageDocument, other: &StageDocument) -> Option<Remark> {
    let (one, two) = (shape(&base.load), shape(&other.load));
    let changes = paths::changes(&one, &two);
    let text = |of: fn(&paths::Change) -> String| changes.iter().map(of).collect::<Vec<_>>().join(", ");
    let [base, other] = [text(|it| format!("{} {}", it.path, it.base)), text(|it| format!("{} {}", it.path, it.other))];
    let meaning = "the loads differ, which also causes differences in the figures; give both runs the same load, unless you compare loads";
    (!changes.is_empty()).then(|| Remark::new(Severity::Note, "load", base, other, meaning))
}

fn length(base: &StageDocument, other: &StageDocument) -> Option<Remark> {
    let (one, two) = (stages::length(&base.load), stages::length(&other.load));
    let meaning =
        "the longer an open loop overloads a server, the slower are its answers; give both runs stages of equal length";
    (one != two).then(|| Remark::new(Severity::Note, "length", one, two, meaning))
}

/// A remark if a server is overloaded: its latencies grow with time, so they have no single value.
fn overload(base: &StageDocument, other: &StageDocument) -> Option<Remark> {
    let text = |it: &StageDocument| match it.overloaded {
        Some(true) => "did not keep up",
        Some(false) => "kept up",
        None => "unknown",
    };
    let meaning = "TTFT and latency of a server that does not keep up grow with the length of the stage; compare at a load that both servers \
                   keep up with, or by their rates";
    [base, other]
        .iter()
        .any(|it| it.overloaded == Some(true))
        .then(|| Remark::new(Severity::Note, "overload", text(base), text(other), meaning))
}

/// A remark if a stage was not in a steady state. Intervals assume that only chance changes the values.
fn steady_state(base: &StageDocument, other: &StageDocument) -> Option<Remark> {
    let [one, two] = [base, other].map(|it| it.uncertainty.steady_state.as_ref().map_or("", |it| it.verdict.as_str()));
    let is_unsteady = |it: &str| matches!(it, "driftingUp" | "driftingDown" | "anomaly");
    let meaning = "a figure that drifts or was disturbed has no single value; add a warm-up or use a longer stage";
    (is_unsteady(one) || is_unsteady(two)).then(|| Remark::new(Severity::Note, "steady state", one, two, meaning))
}

fn lengths(base: &StageDocument, other: &StageDocument) -> Vec<Remark> {
    let mean = |it: &Option<Statistics>| it.as_ref().map(|it| it.mean);
    let (one, two) = (&base.figures, &other.figures);
    let all = [
        (
            "ISL",
            mean(&one.isl_tokens),
            mean(&two.isl_tokens),
            "prompt lengths differ, which changes TTFT; give both runs the same prompts and tokenizer",
        ),
        (
            "OSL",
            mean(&one.osl_tokens),
            mean(&two.osl_tokens),
            "answer lengths differ, which changes latency and rates; request fixed lengths with ignoreEos",
        ),
    ];
    let differs = |(label, one, two, meaning): (&str, Option<f64>, Option<f64>, &str)| {
        let (one, two) = (one?, two?);
        let is_apart = (one - two).abs() > LENGTHS_APART * one.max(two);
        let text = |it: f64| format!("{} tokens", rate_text(it));
        is_apart.then(|| Remark::new(Severity::Note, label, text(one), text(two), meaning))
    };
    all.into_iter().filter_map(differs).collect()
}

fn cached(base: &FiguresDocument, other: &FiguresDocument) -> Option<Remark> {
    let (one, two) = (base.cached_share?, other.cached_share?);
    let text = crds::wording::percent;
    let meaning = "different shares of the prompt tokens came from the prefix cache, which changes TTFT; restart the server before each run, or give both the same warm-up";
    ((one - two).abs() > CACHED_APART)
        .then(|| Remark::new(Severity::Note, "prompt tokens from the cache", text(one), text(two), meaning))
}
