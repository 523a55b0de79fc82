//! Tests properties that hold for any measurement.

use std::sync::LazyLock;

use comparison::{FigureDocument, GateOutcome, GateRule, Verdict};
use document::{EstimateDocument, ReportDocument};
use proptest::prelude::*;

use crate::{
    decisions::{figures, pair},
    queue::{Server, run_of},
};

/// The run that each test case modifies.
static RUN: LazyLock<ReportDocument> = LazyLock::new(|| run_of(Server::default(), 300, 1));

/// A strategy for a value with an interval around it, as a report may contain it.
fn estimate() -> impl Strategy<Value = EstimateDocument> {
    let value = prop_oneof![Just(0.0), 1e-6..1e6_f64];
    (value, 0.0..1.0_f64, 0.0..2.0_f64, 30.0..1e5_f64, any::<bool>()).prop_map(|(value, down, up, worth, whole)| {
        EstimateDocument {
            value: Some(value),
            low: whole.then_some(value * (1.0 - down)),
            high: Some(value * (1.0 + up)),
            effective_values: Some(worth),
            ..EstimateDocument::default()
        }
    })
}

/// A copy of the report with these estimates.
fn with(report: &ReportDocument, estimates: &[EstimateDocument]) -> ReportDocument {
    let mut report = report.clone();
    let uncertainty = &mut report.stages[0].uncertainty;
    let mut next = estimates.iter().cloned().cycle();
    for latencies in
        [&mut uncertainty.ttft_ms, &mut uncertainty.tpot_ms, &mut uncertainty.ntpot_ms, &mut uncertainty.latency_ms]
    {
        let it = latencies.as_mut().unwrap();
        (it.mean, it.p50, it.p90, it.p99) = (next.next(), next.next(), next.next(), next.next());
    }
    uncertainty.requests_per_second = next.next();
    uncertainty.output_tokens_per_second = next.next();
    uncertainty.goodput_requests_per_second = next.next();
    report
}

fn negated(it: Verdict) -> Verdict {
    match it {
        Verdict::Better => Verdict::Worse,
        Verdict::Worse => Verdict::Better,
        other => other,
    }
}

fn is_close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * (1.0 + one.abs())
}

#[test]
fn a_run_against_itself_finds_nothing() {
    let run = run_of(Server::default(), 600, 1);
    let comparison = pair(&run, &run);
    let all = figures(&comparison);
    assert!(all.len() > 20 && all.iter().all(|it| it.difference == Some(0.0)), "{all:?}");
    assert!(
        all.iter().all(|it| matches!(it.verdict, Verdict::NoDifferenceFound | Verdict::CannotBeDecided)),
        "{all:?}"
    );
    assert_eq!(GateRule::default().apply(&comparison).outcome, GateOutcome::Passed);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_other_way_round_everything_is_negated(one in prop::collection::vec(estimate(), 19), two in prop::collection::vec(estimate(), 19)) {
        let (a, b) = (with(&RUN, &one), with(&RUN, &two));
        let (there, back) = (pair(&a, &b), pair(&b, &a));
        prop_assert_eq!(there.pairs[0].families, back.pairs[0].families);
        let all: Vec<(&FigureDocument, &FigureDocument)> = figures(&there).iter().zip(figures(&back)).collect();
        prop_assert!(all.len() > 20);
        for (it, other) in all {
            prop_assert_eq!(&it.figure, &other.figure);
            prop_assert_eq!(it.verdict, negated(other.verdict));
            prop_assert_eq!(it.base, other.other);
            prop_assert_eq!(it.difference, other.difference.map(|it| -it));
            match (it.interval, other.interval) {
                (Some([low, high]), Some([other_low, other_high])) => {
                    prop_assert!(is_close(low, -other_high) && is_close(high, -other_low), "{:?} {:?}", it, other);
                    prop_assert!(low <= it.difference.unwrap() && it.difference.unwrap() <= high, "{:?}", it);
                    // The intervals that all hold at the same time are wider than the 95 % interval of each figure on its own.
                    let [alone_low, alone_high] = it.interval95.unwrap();
                    prop_assert!(low <= alone_low + 1e-9 * alone_low.abs() && alone_high <= high + 1e-9 * high.abs(), "{:?}", it);
                }
                (None, None) => prop_assert_eq!(it.verdict, Verdict::CannotBeDecided),
                _ => prop_assert!(false, "{:?} {:?}", it, other),
            }
        }
    }

    #[test]
    fn a_run_of_any_figures_against_itself_finds_nothing(one in prop::collection::vec(estimate(), 19)) {
        let run = with(&RUN, &one);
        let comparison = pair(&run, &run);
        for it in figures(&comparison) {
            prop_assert!(matches!(it.verdict, Verdict::NoDifferenceFound | Verdict::CannotBeDecided), "{:?}", it);
        }
    }
}
