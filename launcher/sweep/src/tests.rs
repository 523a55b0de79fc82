use ::document::ReportDocument;
use crds::{
    Outcome,
    benchmark_sweep::{BenchmarkSweepSpec, Ended, ResolvedSweep, resolve},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{Answer, Run, SweepDocument, Verdict, evaluate, markdown, rows, text};

/// A report of a valid run with one stage.
const REPORT: &str = include_str!("../../page/fixtures/report.json");

fn sweep(factors: Value, repeats: u32) -> ResolvedSweep {
    let spec = json!({
        "runTemplate": {"spec": {"target": {"simulator": {}}}},
        "factors": factors,
        "repeats": repeats,
    });
    let spec: BenchmarkSweepSpec = serde_json::from_value(spec).unwrap();
    resolve("test", &spec, "uid").unwrap()
}

fn servers() -> Value {
    json!([{"name": "server", "levels": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}])
}

/// The report with other means of its latencies, and another rate of output tokens.
fn report(millis: f64, rate: f64) -> ReportDocument {
    let mut report: Value = serde_json::from_str(REPORT).unwrap();
    let figures = &mut report["stages"][0]["figures"];
    for key in ["ttftMs", "tpotMs", "latencyMs"] {
        figures[key]["mean"] = json!(millis);
        figures[key]["p50"] = json!(millis);
    }
    figures["throughput"]["outputTokensPerSecond"] = json!(rate);
    figures["interactivity"]["inverseOfTpotP90"] = json!(1e3 / millis);
    ReportDocument::read(&report.to_string()).unwrap()
}

fn run(cell: usize, repeat: u32, millis: f64, rate: f64) -> Run {
    Run {
        cell,
        repeat,
        attempts: 1,
        folder: Some(format!("{cell}/r{repeat}")),
        outcome: Outcome::Passed,
        message: String::new(),
        report: Some(report(millis, rate)),
    }
}

fn failed(cell: usize, repeat: u32) -> Run {
    let message = "the target did not become ready".to_owned();
    Run { outcome: Outcome::Error, message, report: None, folder: None, ..run(cell, repeat, 1.0, 1.0) }
}

fn evaluated(sweep: &ResolvedSweep, runs: &[Run]) -> SweepDocument {
    evaluate(sweep, Timestamp::UNIX_EPOCH, runs, Some(Ended::Complete))
}

/// Three servers, each three times: b is 10 % slower than a, and c is equal. The noise is 0.2 %.
fn clear() -> SweepDocument {
    let sweep = sweep(servers(), 3);
    let noise = [[0.1, -0.1, 0.0], [-0.1, 0.2, 0.0], [0.05, 0.0, -0.1]];
    let runs: Vec<Run> = (0..3)
        .flat_map(|cell| (1..=3).map(move |repeat| (cell, repeat)))
        .map(|(cell, repeat)| {
            let truth = if cell == 1 { 110.0 } else { 100.0 };
            run(cell, repeat, truth + noise[cell][repeat as usize - 1], 1_000.0)
        })
        .collect();
    evaluated(&sweep, &runs)
}

#[test]
fn a_difference_of_ten_percent_is_found_and_equal_cells_are_equal() {
    let document = clear();
    let [b, c] = &document.comparisons[..] else { panic!("{:?}", document.comparisons) };
    assert_eq!((b.answer, c.answer), (Answer::Worse, Answer::Equal));
    let tpot = b.figures.iter().find(|it| it.figure == "tpot.mean").unwrap();
    assert_eq!(tpot.verdict, Verdict::Worse);
    assert!((tpot.difference - 10.0).abs() < 0.3, "{tpot:?}");
    assert!(tpot.low.unwrap() > 8.0 && tpot.high.unwrap() < 12.0, "{tpot:?}");
    assert!(
        document.answers[0].starts_with("server=b is worse than server=a: TTFT mean +10"),
        "{:?}",
        document.answers
    );
    assert!(
        document.answers[1].starts_with("server=c against server=a: no difference, at most"),
        "{:?}",
        document.answers
    );
}

#[test]
fn a_slower_cell_with_the_same_rate_is_not_on_the_front() {
    let document = clear();
    let on_front: Vec<bool> = document.cells.iter().map(|it| it.stages[0].on_front).collect();
    assert!(!on_front[1] && (on_front[0] || on_front[2]), "{on_front:?}");
    let sweep = sweep(servers(), 2);
    // b gives a user less and all users more, so both are on the front. c is surpassed by a.
    let trade = [(100.0, 1_000.0), (200.0, 2_000.0), (150.0, 900.0)];
    let runs: Vec<Run> =
        trade.iter().enumerate().flat_map(|(cell, it)| [1, 2].map(|repeat| run(cell, repeat, it.0, it.1))).collect();
    let found: Vec<bool> = evaluated(&sweep, &runs).cells.iter().map(|it| it.stages[0].on_front).collect();
    assert_eq!(found, [true, true, false]);
}

#[test]
fn a_comparison_counts_only_if_the_setting_was_active() {
    let engaged = |figure: &str, min: f64| {
        let mut sweep = sweep(servers(), 3);
        let bound =
            crds::benchmark_sweep::SweepEngagement { cells: vec![1], figure: figure.into(), min: Some(min), max: None };
        sweep.engaged = vec![bound];
        let runs = (0..3).flat_map(|cell| [1, 2, 3].map(|repeat| (cell, repeat)));
        let runs: Vec<Run> =
            runs.map(|(cell, repeat)| run(cell, repeat, 100.0 + 20.0 * cell as f64 + repeat as f64, 1_000.0)).collect();
        let comparison = evaluated(&sweep, &runs).comparisons[0].clone();
        (comparison.answer, comparison.sentence)
    };
    assert_eq!(engaged("outputTokensPerSecond", 900.0).0, Answer::Worse);
    let (answer, sentence) = engaged("outputTokensPerSecond", 1_100.0);
    assert_eq!(answer, Answer::Undecided);
    assert!(sentence.ends_with("server=b: outputTokensPerSecond is 1000, below 1100"), "{sentence}");
    assert!(engaged("cachedShare", 0.3).1.ends_with("server=b: cachedShare was not measured"));
}

#[test]
fn figures_are_known_by_their_names() {
    assert_eq!(crate::figure_named("ttft.p50").map(|it| it.name()), Ok("ttft.p50".to_owned()));
    let error = crate::figure_named("cacheShare").unwrap_err();
    assert!(error.contains("did you mean cachedShare?"), "{error}");
}

#[test]
fn one_repeat_shows_no_difference() {
    let sweep = sweep(servers(), 1);
    let runs = [run(0, 1, 100.0, 1_000.0), run(1, 1, 150.0, 1_000.0)];
    let document = evaluated(&sweep, &runs);
    assert_eq!(document.comparisons[0].answer, Answer::Undecided);
    assert_eq!(document.comparisons[0].sentence, "undecided: the spread between runs is unknown");
    assert!(document.comparisons[0].figures.iter().all(|it| it.low.is_none()));
}

#[test]
fn runs_without_valid_figures_are_named_and_left_out() {
    let sweep = sweep(servers(), 2);
    let invalid = Run { outcome: Outcome::Invalid, message: "too late".into(), ..run(1, 2, 500.0, 1.0) };
    let runs = [run(0, 1, 100.0, 1_000.0), run(0, 2, 101.0, 1_000.0), run(1, 1, 100.5, 1_000.0), invalid, failed(2, 1)];
    let document = evaluated(&sweep, &runs);
    assert_eq!(document.cells[1].stages[0].runs, 1);
    assert_eq!(document.cells[2].stages, []);
    // c has no figures, so only b is compared.
    assert_eq!(document.comparisons.len(), 1);
    let page = markdown(&document);
    assert!(
        page.contains("server=b r2: too late") && page.contains("server=c r1: the target did not become ready"),
        "{page}"
    );
    let shown = rows(&document);
    assert_eq!(shown[1][7], "1 of 2", "{shown:?}");
    assert!(text(&document).contains("3 of 6 runs"), "{}", text(&document));
}

#[test]
fn the_document_is_read_back_and_unknown_keys_are_accepted() {
    let document = clear();
    let mut json = serde_json::to_value(&document).unwrap();
    json["later"] = json!(1);
    json["cells"][0]["later"] = json!(1);
    assert_eq!(serde_json::from_value::<SweepDocument>(json).unwrap(), document);
}
