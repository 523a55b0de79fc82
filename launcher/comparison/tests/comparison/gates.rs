//! Tests which comparisons pass a gate.

use comparison::{Gate, GateOutcome, GateRule};
use document::ReportDocument;

use crate::{
    decisions::pair,
    queue::{Server, run, run_of},
};

fn gate(base: &ReportDocument, other: &ReportDocument, percent: Option<f64>, figures: &[&str]) -> Gate {
    let figures = figures.iter().map(|it| (*it).to_owned()).collect();
    GateRule { percent, figures }.apply(&pair(base, other))
}

#[test]
fn a_gate_fails_on_what_is_worse_and_on_nothing_else() {
    let (base, equal) = (run(Server::default(), 1), run(Server::default(), 2));
    let slower = run(Server { token_ms: 22.0, ..Server::default() }, 3);
    let passed = gate(&base, &equal, None, &[]);
    assert_eq!((passed.outcome, passed.reasons.len()), (GateOutcome::Passed, 0));
    let failed = gate(&base, &slower, None, &[]);
    assert_eq!(failed.outcome, GateOutcome::Regression);
    assert!(failed.reasons.iter().any(|it| it.starts_with("B, stage r10: TPOT mean is worse: +")), "{failed:?}");
    // An improvement is not a regression.
    assert_eq!(gate(&slower, &base, None, &[]).outcome, GateOutcome::Passed);
}

#[test]
fn a_percentage_allows_what_is_less_worse() {
    let base = run(Server::default(), 1);
    let slower = run(Server { token_ms: 22.0, ..Server::default() }, 3);
    // TPOT is 10 % worse.
    for (percent, outcome) in
        [(0.0, GateOutcome::Regression), (5.0, GateOutcome::Regression), (30.0, GateOutcome::Passed)]
    {
        assert_eq!(gate(&base, &slower, Some(percent), &[]).outcome, outcome, "{percent}");
        assert_eq!(gate(&base, &slower, Some(percent), &["tpot.mean"]).outcome, outcome, "{percent}");
    }
    // A figure without a verdict never fails the gate, however much worse it is.
    let few = run_of(Server { token_ms: 22.0, ..Server::default() }, 60, 3);
    let unsure = gate(&run_of(Server::default(), 60, 1), &few, Some(0.0), &["ttft.p90"]);
    assert_ne!(unsure.outcome, GateOutcome::Regression, "{unsure:?}");
    // If the base is 0, there is no percentage, and every worsening fails.
    let failing = run(Server { fails_every: 12, ..Server::default() }, 2);
    assert_eq!(gate(&base, &failing, Some(1_000.0), &["errorRatio"]).outcome, GateOutcome::Regression);
}

#[test]
fn a_worsening_that_is_not_ruled_out_is_inconclusive_and_stated() {
    let few = |seed| run_of(Server::default(), 40, seed);
    let found = gate(&few(1), &few(2), Some(1.0), &[]);
    assert_eq!(found.outcome, GateOutcome::Inconclusive);
    let largest = found.largest_not_ruled_out.as_ref().unwrap();
    let rounded_up = (largest.percent * 10.0).ceil() / 10.0;
    let told = format!("{}: the runs cannot rule out that it is {rounded_up:.1} % worse", largest.figure);
    let named = found.reasons.iter().find(|it| it.starts_with(&told)).unwrap_or_else(|| panic!("{found:?}"));
    assert!(largest.percent > 1.0 && (named.contains("stages of about") || named.contains("--repeat")), "{named}");
    // A server that answers in a third of the time is faster, even with few requests.
    let fast = Server { prefill_ms: 20.0, token_ms: 7.0, ..Server::default() };
    let faster = gate(&few(1), &run_of(fast, 40, 2), Some(1.0), &["latency.mean"]);
    let certain = faster.largest_not_ruled_out.as_ref().is_some_and(|it| it.percent < -30.0);
    assert!(faster.outcome == GateOutcome::Passed && certain, "{faster:?}");
}

#[test]
fn named_figures_alone_decide_and_have_to_be_decided() {
    let base = run(Server::default(), 1);
    let slower = run(Server { token_ms: 22.0, ..Server::default() }, 3);
    assert_eq!(gate(&base, &slower, None, &["errorRatio"]).outcome, GateOutcome::Passed);
    let undecided = gate(&base, &slower, None, &["itl.p99"]);
    assert_eq!(undecided.outcome, GateOutcome::Inconclusive);
    assert!(undecided.reasons[0].contains("ITL p99 cannot be decided: gaps"), "{undecided:?}");
    let missing = gate(&base, &slower, None, &["costPerMillionOutputTokens"]);
    assert!(
        missing.outcome == GateOutcome::Inconclusive && missing.reasons[0].contains("neither run has"),
        "{missing:?}"
    );
    // A regression takes precedence over undecided figures.
    assert_eq!(gate(&base, &slower, None, &["itl.p99", "tpot.mean"]).outcome, GateOutcome::Regression);
}

#[test]
fn what_cannot_be_compared_is_inconclusive() {
    let (base, mut other) = (run(Server::default(), 1), run(Server::default(), 2));
    other.stages[0].labels.clock = "sent".into();
    let found = gate(&base, &other, None, &[]);
    assert_eq!(
        (found.outcome, &found.reasons[..]),
        (GateOutcome::Inconclusive, &["B: not comparable: clock".to_owned()][..])
    );
    // Figures that do not depend on the clock are still decided.
    assert_eq!(gate(&base, &other, None, &["tpot.mean"]).outcome, GateOutcome::Passed);
    let few = run_of(Server::default(), 7, 2);
    let found = gate(&base, &few, None, &[]);
    assert!(
        found.outcome == GateOutcome::Inconclusive
            && found.reasons[0].contains("TTFT mean cannot be decided: B: too few values for an interval of the mean"),
        "{found:?}"
    );
    let mut two = run(Server::default(), 3);
    two.stages.push(document::StageDocument { name: "r99".into(), ..two.stages[0].clone() });
    let found = gate(&base, &two, None, &[]);
    assert!(
        found.outcome == GateOutcome::Inconclusive && found.reasons[0].contains("A has no stage of this name"),
        "{found:?}"
    );
}
