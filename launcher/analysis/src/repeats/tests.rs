use crds::{
    FigureValue, LauncherReason, Met, Outcome,
    benchmark_run::Enforcement,
    resolve::ResolvedObjective,
    summary::{Quantiles, RunSummary, StageSummary},
};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{ObjectiveResult, Objectives, Verdict, objectives::Reading, validity::Reason};

#[test]
fn the_spread_of_known_values() {
    let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
    let found = Spread::new(&values).unwrap();
    // The mean is 5, and the squared differences from it sum to 32; t(0.975, 7) is 2.364624.
    let stddev = (32.0_f64 / 7.0).sqrt();
    let half = 2.364_624 * stddev / 8.0_f64.sqrt();
    assert!((found.stddev - stddev).abs() < 1e-12, "{found:?}");
    assert!((found.interval[0] - (5.0 - half)).abs() < 1e-6 && (found.interval[1] - (5.0 + half)).abs() < 1e-6);
    assert_eq!(Spread::new(&[3.0, 3.0]), Some(Spread { stddev: 0.0, interval: [3.0, 3.0] }));
    for none in [&[][..], &[1.0], &[1.0, f64::NAN], &[1.0, f64::INFINITY]] {
        assert_eq!(Spread::new(none), None, "{none:?}");
    }
    assert_eq!((mean(&values), mean(&[]), mean(&[f64::NAN])), (Some(5.0), None, None));
}

#[test]
fn errors_of_runs_are_pooled_by_their_squares() {
    assert_eq!(pooled_standard_error(&[1.0, 7.0]), Some(5.0));
    assert_eq!(pooled_standard_error(&[2.0]), Some(2.0));
    assert_eq!(pooled_standard_error(&[]), None);
}

fn summary(requests: u64, failed: u64, ttft_p99: Option<u64>) -> RunSummary {
    let quantiles = |it: u64| Quantiles {
        p50_microseconds: (it / 4).into(),
        p90_microseconds: (it / 2).into(),
        p99_microseconds: it.into(),
    };
    RunSummary {
        requests,
        failed,
        duration_microseconds: (1_000 * requests).into(),
        ttft: ttft_p99.map(quantiles),
        requests_per_second_milli: Some((10 * requests).into()),
        ..RunSummary::default()
    }
}

#[test]
fn the_mean_of_summaries_keeps_each_failure_and_leaves_out_what_a_run_lacks() {
    let runs = [summary(100, 0, Some(4_000)), summary(100, 1, Some(8_002)), summary(101, 0, Some(6_001))];
    let found = mean_of_summaries(&runs).unwrap();
    assert_eq!((found.requests, found.failed, found.cancelled, found.mean_of_runs), (101, 1, 0, Some(3)));
    assert_eq!(found.duration_microseconds, 100_333.into());
    assert_eq!(found.ttft.unwrap().p99_microseconds, 6_001.into());
    assert_eq!(found.requests_per_second_milli, Some(1_003.into()));
    assert_eq!(found.itl, None);
    let lacking = mean_of_summaries(&[summary(1, 0, Some(1)), summary(1, 0, None)]).unwrap();
    assert_eq!((lacking.ttft, lacking.mean_of_runs), (None, Some(2)));
    assert_eq!(mean_of_summaries(&[]), None);
}

#[test]
fn stages_are_matched_by_name() {
    let stage = |name: &str, requests: u64, ttft: Option<u64>| StageSummary {
        name: name.into(),
        requests,
        failed: 0,
        cancelled: 0,
        ttft_p99_microseconds: ttft.map(Into::into),
        itl_p99_microseconds: None,
        output_tokens_per_second_milli: None,
    };
    let one = vec![stage("r10", 10, Some(100)), stage("r20", 20, Some(300)), stage("r30", 30, None)];
    let other = vec![stage("r20", 21, Some(500)), stage("r10", 10, Some(201))];
    let found = mean_of_stages(&[one, other]);
    assert_eq!(found, [stage("r10", 10, Some(151)), stage("r20", 21, Some(400))]);
    assert_eq!(mean_of_stages(&[]), []);
}

proptest! {
    #[test]
    fn a_mean_lies_between_the_least_and_the_most(counts in prop::collection::vec((any::<u64>(), any::<u32>()), 1..30)) {
        let runs: Vec<RunSummary> = counts.iter().map(|(requests, ttft)| RunSummary {
            requests: *requests,
            ..summary(u64::from(*ttft), 0, Some(u64::from(*ttft)))
        }).collect();
        let found = mean_of_summaries(&runs).unwrap();
        let least = counts.iter().map(|it| it.0).min().unwrap();
        let most = counts.iter().map(|it| it.0).max().unwrap();
        prop_assert!((least..=most).contains(&found.requests));
        let of_ttft: u64 = found.ttft.unwrap().p99_microseconds.into();
        let bounds = counts.iter().map(|it| u64::from(it.1)).min().unwrap()..=counts.iter().map(|it| u64::from(it.1)).max().unwrap();
        prop_assert!(bounds.contains(&of_ttft));
    }

    #[test]
    fn an_interval_holds_the_mean_and_moves_with_the_values(values in prop::collection::vec(0.0..1e6_f64, 2..30), by in 0.0..1e6_f64) {
        let found = Spread::new(&values).unwrap();
        let moved: Vec<f64> = values.iter().map(|it| it + by).collect();
        let moved = Spread::new(&moved).unwrap();
        let mean = mean(&values).unwrap();
        prop_assert!(found.interval[0] <= mean && mean <= found.interval[1]);
        prop_assert!((moved.stddev - found.stddev).abs() < 1e-3);
        prop_assert!((moved.interval[1] - found.interval[1] - by).abs() < 1e-3);
    }
}

#[test]
fn the_first_run_that_did_not_pass_decides_and_a_missed_objective_before_an_undecided_one() {
    use Outcome::{Cancelled, Inconclusive, Invalid, Passed, SLOViolated};
    for (outcomes, expected) in [
        (vec![], None),
        (vec![Passed, Passed], None),
        (vec![Passed, Invalid, SLOViolated], Some(1)),
        (vec![SLOViolated, Invalid], Some(0)),
        (vec![Inconclusive, Passed, SLOViolated], Some(2)),
        (vec![Inconclusive, Invalid], Some(0)),
        (vec![Passed, Cancelled], Some(1)),
    ] {
        let reasons = vec![Reason { name: LauncherReason::RunSucceeded, message: String::new() }];
        let verdicts: Vec<Verdict> =
            outcomes.iter().map(|outcome| Verdict { outcome: *outcome, reasons: reasons.clone() }).collect();
        assert_eq!(deciding(&verdicts), expected, "{outcomes:?}");
    }
}

/// The result of an objective with an upper limit of 500 ms.
fn result(met: Met, millis: Option<u64>) -> ObjectiveResult {
    let objective = json!({"name": "ttft", "metric": "ttft", "stat": "p99", "bound": {"max": "500ms"}});
    let objective: ResolvedObjective = serde_json::from_value(objective).unwrap();
    let value = |it: u64| FigureValue::Time(format!("{it}ms").parse().unwrap());
    let observed = millis.map(|it| Reading { value: value(it), count: 100, basis: String::new() });
    ObjectiveResult { objective, met, observed, stage: None, baseline: None, stages: Vec::new(), reason: String::new() }
}

#[test]
fn the_worst_result_of_an_objective_names_its_run() {
    let of = |results: Vec<ObjectiveResult>| Objectives { enforcement: Enforcement::Fail, baseline: None, results };
    let check = |runs: &[ObjectiveResult], run: &str, met: Met, observed: &str| {
        let runs: Vec<Objectives> = runs.iter().map(|it| of(vec![it.clone()])).collect();
        let named = runs.iter().enumerate().map(|(place, it)| (format!("r{}", place + 1), it));
        let (counts, rows) = worst_objectives(named).unwrap();
        assert_eq!((counts.all(), counts.total(), rows.len()), (met, 1, 1));
        assert_eq!((rows[0].run.as_str(), rows[0].met, rows[0].observed.as_str()), (run, met, observed));
    };
    let (met, missed, undecided) =
        (|it| result(Met::True, Some(it)), |it| result(Met::False, Some(it)), result(Met::Inconclusive, None));
    check(&[met(300), met(400), met(200)], "r2", Met::True, "400ms");
    check(&[met(300), undecided.clone(), met(200)], "r2", Met::Inconclusive, "");
    check(&[undecided, missed(501), missed(900), missed(600)], "r3", Met::False, "900ms");
    check(&[met(300), met(300)], "r1", Met::True, "300ms");
    assert_eq!(worst_objectives(std::iter::empty::<(String, &Objectives)>()), None);
}
