use std::collections::BTreeMap;

use crds::{
    LauncherReason,
    benchmark_run::{Enforcement, Metric, Stat},
    objective::{FigureValue, Met},
    resolve::Bound,
};
use proptest::prelude::*;

use super::*;
use crate::{Reason, Verdict};

/// Readings per stage; the key `None` stands for the whole run.
#[derive(Default)]
struct Readings(BTreeMap<Option<String>, Reading>, Certainty);

impl Source for Readings {
    fn reading(&self, stage: Option<&str>, _: Metric, _: Option<Stat>) -> Option<Reading> {
        self.0.get(&stage.map(str::to_owned)).cloned()
    }

    fn certainty(&self, _: Option<&str>, _: Metric, _: Option<Stat>) -> Certainty {
        self.1
    }
}

fn time(text: &str) -> FigureValue {
    FigureValue::Time(text.parse().unwrap())
}

fn readings(all: &[(Option<&str>, FigureValue)]) -> Readings {
    let reading = |value: FigureValue| Reading { value, count: 1_000, basis: String::new() };
    let values = all.iter().map(|(stage, value)| (stage.map(str::to_owned), reading(*value))).collect();
    Readings(values, Certainty::default())
}

fn objective(stage: Option<&str>, bound: Bound) -> ResolvedObjective {
    let (metric, stat) = match bound.limit() {
        FigureValue::Time(_) => (Metric::Ttft, Some(Stat::P99)),
        FigureValue::Number(_) => (Metric::OutputTokensPerSecond, None),
    };
    ResolvedObjective { name: "o".into(), metric, stat, stage: stage.map(str::to_owned), bound }
}

/// A load of three stages: `fill` (entirely warm-up, so without figures), `a` and `b`.
fn subject(source: &Readings) -> Subject<'_> {
    Subject { undecided: None, stages: vec!["fill", "a", "b"], measured: vec!["a", "b"], source, baseline: None }
}

/// Readings of a run in which a profiler was active in the named stages.
struct Profiled(Readings, Vec<String>);

impl Source for Profiled {
    fn reading(&self, stage: Option<&str>, metric: Metric, stat: Option<Stat>) -> Option<Reading> {
        self.0.reading(stage, metric, stat)
    }

    fn profiled(&self) -> &[String] {
        &self.1
    }
}

#[test]
fn a_profiled_stage_decides_no_objective() {
    let bound = Bound::Max(time("1s"));
    let found = || readings(&[(None, time("1ms")), (Some("a"), time("9s")), (Some("b"), time("2ms"))]);
    let decided = |stage: Option<&str>, profiled: &[&str]| {
        let source = Profiled(found(), profiled.iter().map(|it| (*it).to_owned()).collect());
        let before = found();
        let result = evaluate(&objective(stage, bound), &Subject { source: &source, ..subject(&before) });
        (result.met, result.stage, result.reason)
    };
    assert_eq!(decided(Some("a"), &[]).0, Met::False);
    let (met, stage, reason) = decided(Some("a"), &["a"]);
    assert_eq!((met, stage.as_deref()), (Met::Inconclusive, Some("a")));
    assert_eq!(reason, "stage a was profiled, and figures of profiled stages decide no objective");
    assert_eq!(decided(Some("b"), &["a"]).0, Met::True);
    let every = decided(Some("*"), &["a"]);
    assert_eq!((every.0, every.1.as_deref()), (Met::True, Some("b")), "the other stage decides");
    assert!(decided(Some("*"), &["a", "b"]).2.starts_with("every stage was profiled"));
    let (met, _, reason) = decided(None, &["a"]);
    assert!(met == Met::Inconclusive && reason.contains("is included in the figures of the run"), "{reason}");
}

#[test]
fn a_baseline_that_was_profiled_is_compared_with_nothing() {
    let (source, bound) = (readings(&[(None, time("1ms"))]), Bound::Max(time("1s")));
    let before = Profiled(readings(&[(None, time("1ms"))]), vec!["a".into()]);
    let baseline = Baseline { source: &before, max_regression_percent: 5 };
    let result = evaluate(&objective(None, bound), &Subject { baseline: Some(baseline), ..subject(&source) });
    assert_eq!(result.met, Met::Inconclusive);
    assert!(result.reason.starts_with("the baseline cannot be compared: stage a was profiled"), "{}", result.reason);
}

/// Checks the result of an objective with this limit for these readings.
#[track_caller]
fn check(stage: Option<&str>, bound: Bound, found: &[(Option<&str>, FigureValue)], expected: (Met, &str)) {
    let source = readings(found);
    let result = evaluate(&objective(stage, bound), &subject(&source));
    assert_eq!((result.met, result.reason.as_str()), expected, "{stage:?} {bound:?} {found:?}");
    assert_eq!(result.met == Met::Inconclusive, result.observed.is_none(), "only what decides is shown");
}

#[test]
fn the_truth_table() {
    use Bound::{Max, Min};
    use Met::{False, Inconclusive, True};
    let number = FigureValue::Number;
    let (limit, below, above) = (time("500ms"), time("499.999999ms"), time("500.000001ms"));
    let run = |value| vec![(None, value)];

    // Each limit is tested with a value below, at and above it.
    check(None, Max(limit), &run(below), (True, ""));
    check(None, Max(limit), &run(limit), (True, ""));
    check(None, Max(limit), &run(above), (False, "p99 of ttft is 500.000001ms, above max 500ms"));
    check(None, Min(limit), &run(above), (True, ""));
    check(None, Min(limit), &run(limit), (True, ""));
    check(None, Min(limit), &run(below), (False, "p99 of ttft is 499.999999ms, below min 500ms"));
    check(None, Min(number(900.0)), &run(number(900.0)), (True, ""));
    check(None, Min(number(900.0)), &run(number(899.5)), (False, "outputTokensPerSecond is 899.5, below min 900"));
    check(None, Max(number(0.0)), &run(number(0.0)), (True, ""));
    check(None, Min(number(0.0)), &run(number(0.0)), (True, ""));
    check(None, Min(number(1.0)), &run(number(f64::INFINITY)), (True, ""));

    // No value.
    check(None, Max(limit), &[], (Inconclusive, "no value of p99 of ttft was measured"));
    check(None, Max(number(1.0)), &run(number(f64::NAN)), (Inconclusive, "outputTokensPerSecond is no number"));
    check(Some("a"), Max(limit), &run(below), (Inconclusive, "no value of p99 of ttft was measured in stage a"));
    check(Some("c"), Max(limit), &run(below), (Inconclusive, "the load has no stage c"));

    // An objective on one stage instead of the whole run.
    let stages = |a, b| vec![(None, above), (Some("a"), a), (Some("b"), b)];
    check(Some("a"), Max(limit), &stages(below, above), (True, ""));
    check(Some("b"), Max(limit), &stages(below, time("1s")), (False, "p99 of ttft in stage b is 1s, above max 500ms"));

    // An objective on every stage: a missed stage decides it. If no stage is missed, an undecided one decides it.
    check(Some("*"), Max(limit), &stages(below, limit), (True, ""));
    check(
        Some("*"),
        Max(limit),
        &stages(above, below),
        (False, "p99 of ttft in stage a is 500.000001ms, above max 500ms"),
    );
    check(
        Some("*"),
        Max(limit),
        &stages(time("1s"), time("2s")),
        (False, "p99 of ttft in stage b is 2s, above max 500ms"),
    );
    check(
        Some("*"),
        Max(limit),
        &[(Some("a"), below)],
        (Inconclusive, "no value of p99 of ttft was measured in stage b"),
    );
    check(
        Some("*"),
        Max(limit),
        &[(Some("b"), above)],
        (False, "p99 of ttft in stage b is 500.000001ms, above max 500ms"),
    );

    // Figures of an invalid run, or of a run that was cut short, decide nothing.
    for why in
        ["the run was stopped before its end", "the run is not valid (TooManyErrors), so its figures do not count"]
    {
        let source = readings(&run(below));
        let subject = Subject { undecided: Some(why.to_owned()), ..subject(&source) };
        let result = evaluate(&objective(None, Max(limit)), &subject);
        // The value is shown although the objective is undecided.
        let observed = result.observed.map(|it| it.value);
        assert_eq!((result.met, observed, result.reason.as_str()), (Inconclusive, Some(below), why));
    }
    let source = Readings::default();
    let no_stages = Subject { stages: Vec::new(), ..subject(&source) };
    assert_eq!(evaluate(&objective(Some("*"), Max(limit)), &no_stages).met, Inconclusive);
}

#[test]
fn a_percentile_of_too_few_values_decides_and_says_what_it_is() {
    let bound = Bound::Max(time("500ms"));
    for (stat, count, told) in [
        (Stat::P99, 100, None),
        (Stat::P99, 99, Some("p99 of 99 values is the largest of them: it needs 100 values or more")),
        (Stat::P99P9, 999, Some("p99.9 of 999 values is the largest of them: it needs 1000 values or more")),
        (Stat::P90, 9, Some("p90 of 9 values is the largest of them: it needs 10 values or more")),
        (Stat::P95, 1, Some("p95 of 1 values is the largest of them: it needs 20 values or more")),
        (Stat::P50, 1, None),
        (Stat::Max, 1, None),
        (Stat::Mean, 1, None),
    ] {
        let of = |value: &str| {
            let mut source = readings(&[(None, time(value))]);
            source.0.get_mut(&None).unwrap().count = count;
            let asked = ResolvedObjective { stat: Some(stat), ..objective(None, bound) };
            let result = evaluate(&asked, &subject(&source));
            (result.met, result.reason)
        };
        assert_eq!(of("400ms"), (Met::True, told.unwrap_or_default().to_owned()));
        let (met, reason) = of("600ms");
        assert_eq!(met, Met::False);
        assert!(reason.contains("above max 500ms") && reason.ends_with(told.unwrap_or("500ms")), "{reason}");
    }
}

/// The result for a value and the value of an earlier run, with a baseline that allows a worsening of `percent` percent.
fn compared(bound: Bound, value: FigureValue, earlier: Option<Reading>, percent: u32) -> ObjectiveResult {
    let source = readings(&[(None, value)]);
    let before = Readings(earlier.map(|it| (None, it)).into_iter().collect(), Certainty::default());
    let baseline = Baseline { source: &before, max_regression_percent: percent };
    evaluate(&objective(None, bound), &Subject { baseline: Some(baseline), ..subject(&source) })
}

#[test]
fn a_baseline_is_a_second_limit_and_the_stricter_one_decides() {
    use Met::{False, Inconclusive, True};
    let earlier = |value| Some(Reading { value, count: 1_000, basis: String::new() });
    let number = FigureValue::Number;
    let (max, min) = (Bound::Max(time("500ms")), Bound::Min(number(900.0)));
    for (bound, value, before, percent, met, limit) in [
        (max, time("440ms"), time("400ms"), 10, True, "440ms"),
        (max, time("440.000001ms"), time("400ms"), 10, False, "440ms"),
        (max, time("501ms"), time("480ms"), 10, False, "500ms"),
        (max, time("400ms"), time("400ms"), 0, True, "400ms"),
        (min, number(950.0), number(1_000.0), 5, True, "950"),
        (min, number(949.0), number(1_000.0), 5, False, "950"),
        (min, number(899.0), number(900.0), 5, False, "900"),
        (min, number(900.0), number(1_000.0), 1_000, True, "900"),
        (min, number(1_000.1), number(1_000.1), 0, True, "1000"),
    ] {
        let result = compared(bound, value, earlier(before), percent);
        assert_eq!((result.met, result.limit().to_string().as_str()), (met, limit), "{value:?} {before:?}");
    }
    let regressed = compared(max, time("450ms"), earlier(time("400ms")), 10);
    assert_eq!(
        regressed.reason,
        "p99 of ttft is 450ms, above the limit 440ms, which is 10 % away from the baseline's 400ms"
    );

    let none = compared(max, time("450ms"), None, 10);
    assert_eq!((none.met, none.reason.as_str()), (Inconclusive, "the baseline has no p99 of ttft"));
    assert_eq!(compared(max, time("600ms"), None, 10).met, False, "its own limit is missed anyway");
    let sent = Some(Reading { value: time("400ms"), count: 10, basis: "sent".into() });
    let otherwise = compared(max, time("400ms"), sent, 10);
    assert!(otherwise.met == Inconclusive && otherwise.reason.contains("its label is sent"), "{otherwise:?}");
    let nan = compared(min, number(950.0), earlier(number(f64::NAN)), 10);
    assert_eq!((nan.met, nan.baseline), (Inconclusive, None));
    let zero = compared(Bound::Max(number(0.01)), number(0.005), earlier(number(0.0)), 10);
    assert!(zero.met == True && zero.reason.contains("there is no percentage of it"), "{zero:?}");
}

fn verdict(outcome: Outcome) -> Verdict {
    let name = match outcome {
        Outcome::Passed => LauncherReason::RunSucceeded,
        Outcome::Cancelled => LauncherReason::Cancelled,
        _ => LauncherReason::TooManyErrors,
    };
    Verdict { outcome, reasons: vec![Reason { name, message: String::new() }] }
}

fn results(all: &[Met]) -> Objectives {
    let result = |(index, met): (usize, &Met)| ObjectiveResult {
        met: *met,
        ..ObjectiveResult::undecided(
            &ResolvedObjective { name: format!("o{index}"), ..objective(None, Bound::Max(time("1s"))) },
            None,
            "why".into(),
        )
    };
    Objectives { enforcement: Enforcement::Fail, baseline: None, results: all.iter().enumerate().map(result).collect() }
}

#[test]
fn objectives_change_the_outcome_of_a_valid_run_alone_and_only_where_they_are_enforced() {
    use Met::{False, Inconclusive, True};
    use Outcome::{Cancelled, Invalid, Passed, SLOViolated};
    for (outcome, all, enforced) in [
        (Passed, &[True, True][..], Passed),
        (Passed, &[], Passed),
        (Passed, &[True, False, Inconclusive], SLOViolated),
        (Passed, &[True, Inconclusive], Outcome::Inconclusive),
        (Invalid, &[Inconclusive, Inconclusive], Invalid),
        (Cancelled, &[Inconclusive], Cancelled),
    ] {
        for (enforcement, expected) in [(Enforcement::Fail, enforced), (Enforcement::Report, outcome)] {
            let mut verdict = verdict(outcome);
            let before = verdict.clone();
            Objectives { enforcement, ..results(all) }.apply(&mut verdict);
            assert_eq!(verdict.outcome, expected, "{outcome:?} {all:?} {enforcement:?}");
            assert_eq!(verdict == before, expected == outcome);
        }
    }
    let mut one = verdict(Passed);
    results(&[False, True, Inconclusive, False]).apply(&mut one);
    assert_eq!(one.headline().to_string(), "SLOViolated: o0: why; o3: why");
    let mut many = verdict(Passed);
    results(&[False; 5]).apply(&mut many);
    assert_eq!(many.headline().message, "o0: why; o1: why; o2: why; and 2 more, see report.md");
}

#[test]
fn figures_of_an_invalid_or_partial_run_decide_nothing() {
    let undecided = |outcome, partial| why_undecided(outcome, partial, "TooManyErrors");
    assert_eq!(undecided(Outcome::Passed, false), None);
    let stopped = Some("the run was stopped before its end".to_owned());
    assert_eq!(undecided(Outcome::Passed, true), stopped);
    assert_eq!(undecided(Outcome::Cancelled, true), stopped);
    assert!(undecided(Outcome::Invalid, false).is_some_and(|it| it.contains("(TooManyErrors)")));
}

#[test]
fn a_status_row_shows_the_value_beside_the_limit_that_decided() {
    let source = readings(&[(None, time("402.1234ms"))]);
    let row = evaluate(&objective(None, Bound::Max(time("500ms"))), &subject(&source)).status();
    assert_eq!((row.observed.as_str(), row.limit.as_str(), row.met), ("402.1ms", "500ms", Met::True));
    let nothing = Readings::default();
    let row = evaluate(&objective(None, Bound::Max(time("500ms"))), &subject(&nothing)).status();
    assert_eq!((row.observed.as_str(), row.limit.as_str(), row.met), ("", "500ms", Met::Inconclusive));
}

proptest! {
    /// For any measured values, the result equals a plain comparison, and a baseline never relaxes an objective.
    #[test]
    fn any_number_is_decided_as_it_compares(value in any::<f64>(), limit in 0.0..1e12, before in any::<f64>(), percent in 0_u32..=1_000) {
        let number = FigureValue::Number;
        for bound in [Bound::Max(number(limit)), Bound::Min(number(limit))] {
            let source = readings(&[(None, number(value))]);
            let alone = evaluate(&objective(None, bound), &subject(&source)).met;
            let expected = match (value.is_nan(), bound) {
                (true, _) => Met::Inconclusive,
                (_, Bound::Max(_)) if value <= limit => Met::True,
                (_, Bound::Min(_)) if value >= limit => Met::True,
                _ => Met::False,
            };
            prop_assert_eq!(alone, expected);
            let earlier = Reading { value: number(before), count: 1, basis: String::new() };
            let beside = compared(bound, number(value), Some(earlier), percent);
            prop_assert!(beside.met != Met::True || alone == Met::True);
            prop_assert!(beside.limit().as_f64().is_finite());
        }
    }
}

#[test]
fn a_value_whose_interval_holds_the_limit_says_so() {
    let limit = time("500ms");
    let reason = |interval: (&str, &str), drift| {
        let mut source = readings(&[(None, time("499ms"))]);
        source.1 = Certainty { interval: Some((time(interval.0), time(interval.1))), drift, ..Certainty::default() };
        let result = evaluate(&objective(None, Bound::Max(limit)), &subject(&source));
        assert_eq!(result.met, Met::True, "the value decides");
        result.reason
    };
    assert_eq!(reason(("350ms", "700ms"), None), "its 95 % interval, 350ms to 700ms, contains the limit");
    assert_eq!(reason(("490ms", "499.5ms"), None), "");
    assert_eq!(reason(("490ms", "499.5ms"), Some(Drift::Up)), "the stage was drifting up");
    let both = "its 95 % interval, 490ms to 500ms, contains the limit; the stage was drifting down";
    assert_eq!(reason(("490ms", "500ms"), Some(Drift::Down)), both);
}

/// The result of the stage `a` for a limit of 500 ms on TTFT p99.
fn stage_result(value: &str, count: u64, certainty: Certainty) -> (Met, String) {
    let mut source = readings(&[(Some("a"), time(value))]);
    source.0.get_mut(&Some("a".to_owned())).unwrap().count = count;
    source.1 = certainty;
    let objective = objective(Some("a"), Bound::Max(time("500ms")));
    let mut results = evaluate(&objective, &subject(&source)).stages;
    assert_eq!(results.len(), 1);
    let StageResult { met, reason, .. } = results.remove(0);
    (met, reason)
}

#[test]
fn a_stage_is_decided_if_its_interval_lies_on_one_side_of_the_limit() {
    let between = |low: &str, high: &str| Certainty { interval: Some((time(low), time(high))), ..Certainty::default() };
    for (value, low, high, met) in [
        ("400ms", "380ms", "500ms", Met::True),
        ("400ms", "380ms", "501ms", Met::Inconclusive),
        ("510ms", "500ms", "520ms", Met::Inconclusive),
        ("510ms", "501ms", "520ms", Met::False),
    ] {
        // If there is an interval, the number of values does not matter.
        let (found, reason) = stage_result(value, 3, between(low, high));
        assert_eq!((found, reason.is_empty()), (met, met != Met::Inconclusive), "{low} {high}: {reason}");
    }
    let (_, reason) = stage_result("400ms", 3, between("380ms", "501ms"));
    assert_eq!(reason, "the limit lies within the 95 % interval, 380ms to 501ms");
}

#[test]
fn a_stage_without_an_interval_needs_enough_independent_values_on_one_side() {
    // The source returns the same value for every statistic, so all values lie on the same side.
    let without = |value, effective_values| {
        stage_result(value, 1_000, Certainty { effective_values: Some(effective_values), ..Certainty::default() })
    };
    assert_eq!(without("400ms", 298.9), (Met::Inconclusive, "298 of 299 values".to_owned()));
    assert_eq!(without("400ms", 299.0), (Met::True, String::new()));
    assert_eq!(without("600ms", 5.0), (Met::False, String::new()));
    assert_eq!(without("600ms", 4.9).0, Met::Inconclusive);
    let unknown = stage_result("400ms", 1_000, Certainty::default());
    assert_eq!(unknown, (Met::Inconclusive, "it has no interval".to_owned()));
}

#[test]
fn a_drift_towards_the_limit_leaves_a_stage_undecided() {
    let drifting = |value, low: &str, high: &str, drift| {
        let interval = Some((time(low), time(high)));
        stage_result(value, 1_000, Certainty { interval, drift: Some(drift), ..Certainty::default() }).0
    };
    assert_eq!(drifting("400ms", "380ms", "420ms", Drift::Up), Met::Inconclusive);
    assert_eq!(drifting("400ms", "380ms", "420ms", Drift::Down), Met::True);
    assert_eq!(drifting("600ms", "580ms", "620ms", Drift::Up), Met::False);
}

#[test]
fn a_limit_of_the_run_is_applied_to_each_measured_stage() {
    let mut source = readings(&[(None, time("300ms")), (Some("fill"), time("1ms")), (Some("a"), time("400ms"))]);
    source.1.effective_values = Some(500.0);
    let results = evaluate(&objective(None, Bound::Max(time("500ms"))), &subject(&source)).stages;
    let found: Vec<_> = results.iter().map(|it| (it.stage.as_str(), it.met)).collect();
    assert_eq!(found, [("a", Met::True), ("b", Met::Inconclusive)]);
    assert!(results[1].reason.contains("no value of"), "{}", results[1].reason);
}
