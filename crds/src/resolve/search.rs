//! The search as the launcher receives it, and the checks of the spec's search.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{EffectiveSpec, Errors, ResolvedObjective, ResolvedSlo, Scope};
use crate::{
    AnyValue,
    benchmark_run::{BenchmarkRunSpec, Harness, Metric, SearchOver, SearchRecovery, Stat},
    resolve::Bound,
    units::Span,
    wording::quoted,
};

const FIELD: &str = "spec.search";
/// Default time limits of a search, in seconds: usually the first. The second applies if an objective is on p99 or above, which needs more requests.
const BUDGETS: (u32, u32) = (1_200, 2_400);
/// The shortest and the longest time limit that a spec can set, in seconds. The shortest suffices for all steps of a search: raising the load takes
/// two to three minutes, a confirmation takes three, and the trial that lowers the load from an overload takes three.
const BUDGET_RANGE: (u32, u32) = (600, 86_400);
/// The time that a run needs beside its trials, in seconds: the last trial can end a little late, and its requests are aborted.
const BESIDE_TRIALS: u32 = 60;
const RISK: f64 = 0.05;
const RISK_RANGE: (f64, f64) = (0.001, 0.5);
/// The default of `highest`: the highest load that a search tries.
const HIGHEST: f64 = 1e6;

/// A search for the highest load at which all objectives hold.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedSearch {
    /// What differs between trials: the rate or the concurrency. If absent, the load of the profile decides.
    pub over: Option<SearchOver>,
    /// Time limit for all trials.
    pub budget: Span,
    /// Maximum probability that the answer is above the capacity.
    pub risk: f64,
    /// The load of the first trial.
    pub first: f64,
    /// The highest load to try.
    pub highest: f64,
    /// The load that the answer must reach. If absent, any answer passes.
    pub at_least: Option<f64>,
    /// Whether the server must return to the answer after an overload, or whether the report only shows this.
    pub recovery: SearchRecovery,
}

/// The search in a spec, with defaults. `None` if the spec has none.
pub(super) fn search(
    spec: &BenchmarkRunSpec,
    effective: &EffectiveSpec,
    slo: Option<&ResolvedSlo>,
    errors: &mut Errors,
) -> Option<ResolvedSearch> {
    let written = spec.search.as_ref()?;
    check_run(spec, effective, errors);
    let objectives = slo.map_or(&[][..], |it| &it.objectives);
    if objectives.is_empty() {
        let message = "has no objectives to hold; write them into spec.slo.objectives, such as {name: ttft, metric: ttft, stat: p99, max: 500ms}";
        errors.add(FIELD, message);
    }
    for (index, objective) in objectives.iter().enumerate() {
        if let Some(problem) = problem(objective) {
            errors.add(&format!("spec.slo.objectives[{index}]"), &problem);
        }
    }
    let is_rare = objectives.iter().any(|it| matches!(it.stat, Some(Stat::P99 | Stat::P99P9)));
    let seconds = written.budget_seconds.unwrap_or(if is_rare { BUDGETS.1 } else { BUDGETS.0 });
    let (least, most) = BUDGET_RANGE;
    if !(least..=most).contains(&seconds) {
        errors.add(&format!("{FIELD}.budgetSeconds"), &format!("is {seconds}; write a number from {least} to {most}"));
    }
    let run_seconds = effective.execution.deadlines.run_seconds;
    let needed = seconds.saturating_add(BESIDE_TRIALS);
    if run_seconds < needed {
        let message = format!(
            "is {run_seconds}, and a search of {seconds} seconds needs {needed}; raise it, or lower spec.search.budgetSeconds"
        );
        errors.add("spec.execution.deadlines.runSeconds", &message);
    }
    let risk = written.risk.as_ref().map_or(RISK, |it| {
        let (least, most) = RISK_RANGE;
        let remedy = format!("write a number from {least} to {most}, such as {RISK}");
        number("risk", it, |it| (least..=most).contains(&it), &remedy, errors)
    });
    let is_whole = written.over == Some(SearchOver::Concurrency);
    let mut load = |field: &str, value: Option<&AnyValue>| {
        let is_load = |it: f64| it > 0.0 && it <= HIGHEST && (!is_whole || it.fract() == 0.0);
        let kind = if is_whole { "whole number" } else { "number" };
        let remedy = format!("write a {kind} above 0 and up to {HIGHEST}");
        value.map(|it| number(field, it, is_load, &remedy, errors))
    };
    let first = load("first", written.first.as_ref()).unwrap_or(1.0);
    let highest = load("highest", written.highest.as_ref()).unwrap_or(HIGHEST);
    let at_least = load("atLeast", written.at_least.as_ref());
    if first > highest {
        errors.add(&format!("{FIELD}.first"), &format!("is {first}, above highest, which is {highest}; lower it"));
    }
    if let Some(at_least) = at_least.filter(|it| *it > highest) {
        let message =
            format!("is {at_least}, above highest, which is {highest}; no answer could reach it; raise highest");
        errors.add(&format!("{FIELD}.atLeast"), &message);
    }
    Some(ResolvedSearch {
        over: written.over,
        budget: Span(Duration::from_secs(u64::from(seconds))),
        risk,
        first,
        highest,
        at_least,
        recovery: written.recovery.unwrap_or_default(),
    })
}

/// Adds an error for each part of the spec that cannot be combined with a search.
fn check_run(spec: &BenchmarkRunSpec, effective: &EffectiveSpec, errors: &mut Errors) {
    match effective.harness {
        Harness::Loadgen => errors.add(
            FIELD,
            "has no effect with harness loadgen, whose Server tests search their rate by LoadGen's rules; take it out",
        ),
        Harness::Nop => errors.add(FIELD, "has no effect with harness nop, which sends no load; take it out"),
        _ => {}
    }
    if effective.repeat > 1 {
        errors.add(FIELD, "is set beside repeat; take one of them out, and create a BenchmarkRun for each search");
    }
    if spec.profiling.is_some() {
        errors.add(FIELD, "is set beside profiling, and a profiler slows the server down; take one of them out");
    }
    if spec.slo.baseline.is_some() {
        errors.add(
            FIELD,
            "is set beside slo.baseline, and an earlier run has no figures of the trials; take one of them out",
        );
    }
}

/// The reason why a search cannot test an objective. `None` if it can.
fn problem(objective: &ResolvedObjective) -> Option<String> {
    if objective.scope() != Scope::Run && objective.scope() != Scope::EveryStage {
        return Some("names a stage, and the stages of a search are its trials; take stage out".to_owned());
    }
    match (objective.metric, objective.stat, objective.bound) {
        (Metric::Itl, ..) => Some("bounds itl, which has no value per request; bound tpot instead".to_owned()),
        (Metric::SendLag, ..) => Some("bounds sendLag, which validity.maxSendLagP99Milliseconds bounds; take it out".to_owned()),
        (_, Some(Stat::Mean), _) => Some("bounds a mean; bound p50 or a higher percentile instead".to_owned()),
        (_, Some(Stat::Max), _) => {
            Some("bounds max, and no number of requests can confirm that none is slower; bound p99 or p99.9".to_owned())
        }
        (metric, Some(_), Bound::Min(_)) => Some(format!("has a min, and a search limits {} from above; write max", metric.name())),
        (Metric::ErrorRatio, _, Bound::Max(limit)) | (Metric::GoodputShare, _, Bound::Min(limit)) => {
            let limit = limit.as_f64();
            let allowed = if objective.metric == Metric::ErrorRatio { limit } else { 1.0 - limit };
            let text = "allows no request to miss it, which no number of requests can confirm; allow a share such as 0.001";
            (allowed <= 0.0).then(|| text.to_owned())
        }
        (Metric::ErrorRatio, _, Bound::Min(_)) => Some("has a min; write max".to_owned()),
        (Metric::GoodputShare, _, Bound::Max(_)) => Some("has a max; write min".to_owned()),
        (_, None, _) => {
            Some("bounds a rate, and the load decides the rate; write the load that the answer must reach into spec.search.atLeast".to_owned())
        }
        _ => None,
    }
}

fn number(field: &str, value: &AnyValue, is_allowed: impl Fn(f64) -> bool, remedy: &str, errors: &mut Errors) -> f64 {
    let text = value.text();
    let number = text.parse().unwrap_or(f64::NAN);
    if !is_allowed(number) {
        let found = if number.is_nan() { quoted(&text) } else { text };
        errors.add(&format!("{FIELD}.{field}"), &format!("is {found}; {remedy}"));
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::{RunIdentity, Settings, resolve};

    const TTFT: &str = "{name: ttft, metric: ttft, stat: p95, max: 500ms}";

    fn check(search: &str, objective: &str, more: &str) -> Result<Option<ResolvedSearch>, Vec<String>> {
        let spec =
            format!("{{target: {{url: 'http://h:1'}}, search: {search}, slo: {{objectives: [{objective}]}}{more}}}");
        let spec: BenchmarkRunSpec = serde_saphyr::from_str(&spec).unwrap();
        let resolved = resolve(RunIdentity::first_attempt("chat", "", "u"), &spec, &Settings::default());
        resolved.map(|it| it.search).map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    fn assert_refused(search: &str, objective: &str, more: &str, expected: &str) {
        let errors = check(search, objective, more).unwrap_err();
        assert!(errors.iter().any(|it| it.starts_with(expected)), "{search}, {objective}{more}: {errors:?}");
    }

    #[test]
    fn a_search_needs_objectives_alone() {
        let of = |search: &str, objective: &str| check(search, objective, "").unwrap().unwrap();
        let default = of("{}", TTFT);
        assert_eq!((default.budget.0.as_secs(), default.risk, default.first, default.highest), (1_200, 0.05, 1.0, 1e6));
        assert_eq!((default.over, default.at_least, default.recovery), (None, None, SearchRecovery::Required));
        assert_eq!(of("{}", "{name: t, metric: tpot, stat: p99, max: 50ms}").budget.0.as_secs(), 2_400);
        let full = of(
            "{over: Concurrency, budgetSeconds: 600, risk: 0.01, first: 8, highest: 64, atLeast: '12', recovery: Off}",
            TTFT,
        );
        assert_eq!(
            (full.over, full.first, full.highest, full.at_least),
            (Some(SearchOver::Concurrency), 8.0, 64.0, Some(12.0))
        );
        assert_eq!((full.budget.0.as_secs(), full.risk, full.recovery), (600, 0.01, SearchRecovery::Off));
        for objective in [
            "{name: e, metric: errorRatio, max: 0.01}",
            "{name: g, metric: goodputShare, min: 0.95}",
            "{name: l, metric: latency, stat: p90, stage: '*', max: 2s}",
        ] {
            of("{}", objective);
        }
        assert_eq!(check("null", TTFT, ""), Ok(None));
    }

    #[test]
    fn what_cannot_be_searched_is_refused() {
        assert_refused("{}", "", "", "spec.search: has no objectives to hold");
        assert_refused("{budgetSeconds: 60}", TTFT, "", "spec.search.budgetSeconds: is 60; write");
        assert_refused(
            "{budgetSeconds: 7200}",
            TTFT,
            "",
            "spec.execution.deadlines.runSeconds: is 3600, and a search of 7200",
        );
        assert_refused("{risk: 0}", TTFT, "", "spec.search.risk: is 0; write a number from 0.001 to 0.5");
        assert_refused("{risk: low}", TTFT, "", "spec.search.risk: is \"low\"; write");
        assert_refused("{first: 9, highest: 8}", TTFT, "", "spec.search.first: is 9, above highest");
        assert_refused("{atLeast: 9, highest: 8}", TTFT, "", "spec.search.atLeast: is 9, above highest");
        assert_refused("{over: Concurrency, first: 1.5}", TTFT, "", "spec.search.first: is 1.5; write a whole number");
        assert_refused("{}", TTFT, ", harness: loadgen", "spec.search: has no effect with harness loadgen");
        assert_refused("{}", TTFT, ", harness: nop", "spec.search: has no effect with harness nop");
        assert_refused("{}", TTFT, ", repeat: 2", "spec.search: is set beside repeat");
        for (objective, expected) in [
            ("{name: i, metric: itl, stat: p99, max: 50ms}", "bounds itl"),
            ("{name: i, metric: ttft, stat: mean, max: 50ms}", "bounds a mean"),
            ("{name: i, metric: ttft, stat: max, max: 50ms}", "bounds max"),
            ("{name: i, metric: ttft, stat: p99, max: 50ms, stage: r1}", "names a stage"),
            ("{name: i, metric: errorRatio, max: 0}", "allows no request to miss it"),
            ("{name: i, metric: requestsPerSecond, min: 9}", "bounds a rate"),
        ] {
            assert_refused("{}", objective, "", &format!("spec.slo.objectives[0]: {expected}"));
        }
    }
}
