//! Tests the text at the end of a run: colours, widths and marks of validity.

use crds::units::Span;
use document::ReportDocument;
use measurement::record::RequestOutcome;
use report::{paint::Paint, terminal};
use serde_json::json;
use workload_profiles::workload::Goodput;

use crate::{
    fixture::{Fixture, ms},
    layout::sweep,
};

fn document(fixture: &Fixture) -> ReportDocument {
    fixture.report(&fixture.analyse()).document().unwrap()
}

fn plain(document: &ReportDocument) -> String {
    terminal::table(document, Paint::OFF)
}

/// Adds an objective that is met and one that is missed.
fn with_objectives(fixture: Fixture) -> Fixture {
    let objectives = json!([
        {"name": "ttft", "metric": "ttft", "stat": "p90", "stage": "*", "bound": {"max": "5s"}},
        {"name": "itl", "metric": "itl", "stat": "p99", "stage": "*", "bound": {"max": "1ms"}},
    ]);
    let slo = serde_json::from_value(json!({"enforcement": "Fail", "objectives": objectives})).unwrap();
    Fixture { run: crds::ResolvedRun { slo: Some(slo), ..fixture.run.clone() }, ..fixture }
}

/// Removes escape sequences from a text.
fn without_styles(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |all, it| all + it.split_once('m').unwrap().1)
}

fn check_width(document: &ReportDocument) {
    let text = plain(document);
    let wide: Vec<&str> = text.lines().filter(|it| it.chars().count() > 100).collect();
    assert!(wide.is_empty(), "{wide:#?} in\n{text}");
}

#[test]
fn colours_add_nothing_but_escape_sequences() {
    for fixture in [Fixture::of_one_stage(), sweep(), with_objectives(sweep())] {
        let document = document(&fixture);
        let (plain, painted) = (plain(&document), terminal::table(&document, Paint::new(true)));
        assert!(!plain.contains('\u{1b}'), "{plain}");
        assert!(painted.contains("\u{1b}[1m"), "decisive figures are bold: {painted}");
        assert_eq!(without_styles(&painted), plain);
    }
}

#[test]
fn verdicts_have_their_colours() {
    let painted = terminal::table(&document(&with_objectives(sweep())), Paint::new(true));
    for part in
        ["\u{1b}[32m\u{2713} met\u{1b}[0m", "\u{1b}[31m\u{2717} missed\u{1b}[0m", "\u{1b}[31mSLOViolated\u{1b}[0m"]
    {
        assert!(painted.contains(part), "{part:?} is not in {painted}");
    }
}

#[test]
fn no_line_is_wider_than_100_columns() {
    for fixture in
        [sweep(), with_objectives(sweep()), Fixture::new(), Fixture::of_one_stage(), Fixture::with_all_told()]
    {
        check_width(&document(&fixture));
    }
    let mut fixture = with_objectives(sweep());
    for (index, (record, _)) in fixture.requests.iter_mut().enumerate() {
        let failures = [RequestOutcome::HttpError(503), RequestOutcome::BrokenStream, RequestOutcome::Abandoned];
        record.outcome = failures.get(index % 5).copied().unwrap_or(RequestOutcome::Ok);
    }
    fixture.workload.goodput = Goodput { ttft: Some(Span(ms(50))), ..Goodput::default() };
    check_width(&document(&fixture));
    let mut fixture = with_objectives(sweep());
    fixture.workload.stages[3].name = "the stage with which the load of the whole night begins, ".repeat(3);
    fixture.workload.stages[4].name = "x".repeat(130);
    let mut long = document(&fixture);
    long.model = "org/".to_owned() + &"a-model-with-a-long-name-".repeat(6);
    check_width(&long);
    assert!(plain(&long).replace(['\n', ' '], "").contains(&long.model), "the name is whole");
}

#[test]
fn a_sweep_of_seven_stages_with_objectives_fits_a_screen() {
    let text = plain(&document(&with_objectives(sweep())));
    assert!(text.lines().count() <= 30, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn one_stage_has_its_distributions_and_rates() {
    insta::assert_snapshot!(plain(&document(&with_objectives(Fixture::of_one_stage()))));
}

#[test]
fn figures_of_an_invalid_run_are_in_brackets() {
    let mut document = document(&Fixture::new());
    assert_eq!(document.outcome.name(), "Invalid");
    let text = plain(&document);
    assert!(text.contains("(values in brackets are not valid)") && text.contains(" (49ms) "), "{text}");
    // If only one stage is invalid, the figures of the other stages are shown as valid.
    document.stages[1].invalid = vec!["SendLagTooLarge: late".to_owned()];
    let text = plain(&document);
    assert!(text.contains(" 49ms ") && text.contains(" (30ms) ") && text.contains("c2 (not valid)"), "{text}");
    assert!(text.contains("launcher not healthy: SendLagTooLarge in stage c2\n"), "{text}");
    document.outcome = crds::Outcome::Passed;
    document.stages[1].invalid.clear();
    assert!(!plain(&document).contains("brackets"));
}

#[test]
fn a_launcher_beyond_a_bound_is_named() {
    let mut document = document(&sweep());
    assert!(plain(&document).contains("\nlauncher healthy: send lag p99 1ms of 10ms, "), "{}", plain(&document));
    document.self_judgement.send_lag_p99_ms = Some(67.7);
    let expected = "\nlauncher not healthy: send lag p99 67.7ms, above 10ms\n";
    assert!(plain(&document).contains(expected), "{}", plain(&document));
}

#[test]
fn a_partial_run_is_marked() {
    let mut document = document(&sweep());
    document.partial = true;
    assert!(plain(&document).contains("\nPassed, partial: org/model-8b"), "{}", plain(&document));
}

#[test]
fn five_caveats_are_shown_and_the_others_counted() {
    let mut document = document(&sweep());
    document.self_judgement.remarks = (1..=5).map(|it| format!("caveat {it}")).collect();
    let text = plain(&document);
    assert!(text.ends_with("\nnote: caveat 4\nnote: caveat 5\n"), "{text}");
    document.self_judgement.remarks.extend(["caveat 6".to_owned(), "caveat 7".to_owned()]);
    assert!(plain(&document).ends_with("\nnote: caveat 5\nand 2 more in report.md\n"), "{}", plain(&document));
    document.self_judgement.remarks = vec!["a long caveat ".repeat(40)];
    let text = plain(&document);
    let note: Vec<&str> = text.lines().skip_while(|it| !it.starts_with("note:")).collect();
    assert!(note.len() == 2 && note[1].starts_with("  ") && note[1].ends_with('\u{2026}'), "{note:?}");
}
