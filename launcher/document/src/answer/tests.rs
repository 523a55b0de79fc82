use crds::{
    benchmark_run::{Metric, Stat},
    units::RequestRate,
};
use workload_profiles::workload::Arrivals;

use super::*;
use crate::{ReasonDocument, StageObjectiveDocument};

fn report() -> ReportDocument {
    ReportDocument::read(include_str!("../../../page/fixtures/report.json")).unwrap()
}

fn users(concurrency: u32) -> Load {
    let ramp_up = "0s".parse().unwrap();
    Load::Closed { concurrency, count: None, duration: None, ramp_up, start_rate: None }
}

fn open(rate: f64) -> Load {
    let rate = Rate::Steady(RequestRate::try_from(rate).unwrap());
    Load::Open { arrivals: Arrivals::Poisson, rate, duration: None, count: Some(10), max_concurrency: None }
}

/// A report with one stage per load, and an objective on TTFT p99 with these results.
fn with_levels(levels: &[(Load, Met)]) -> ReportDocument {
    let mut report = report();
    let template = report.stages.remove(0);
    for (number, (load, met)) in levels.iter().enumerate() {
        let stage = StageDocument { name: format!("s{number}"), load: load.clone(), ..template.clone() };
        report.stages.push(stage);
        let result = StageObjectiveDocument { stage: format!("s{number}"), met: *met, ..none() };
        if number == 0 {
            report.objectives = vec![objective("o", *met, Some(72.9))];
        }
        report.objectives[0].stages.push(result);
    }
    report
}

fn none() -> StageObjectiveDocument {
    let met = Met::Inconclusive;
    let stage = String::new();
    StageObjectiveDocument { stage, met, observed: None, low: None, high: None, values: None, reason: String::new() }
}

/// An objective on TTFT p99 with a limit of 80 ms.
fn objective(name: &str, met: Met, observed: Option<f64>) -> ObjectiveDocument {
    ObjectiveDocument {
        name: name.into(),
        metric: Metric::Ttft,
        stat: Some(Stat::P99),
        stage: None,
        bound: "max".into(),
        limit: 80.0,
        unit: "ms".into(),
        met,
        observed,
        observed_stage: None,
        values: Some(100),
        baseline: None,
        baseline_limit: None,
        stages: Vec::new(),
        reason: String::new(),
    }
}

fn tags(answer: &Answer) -> Vec<String> {
    answer.tags.iter().map(|it| format!("{} {}", it.state.sign(), it.text)).collect()
}

#[test]
fn over_load_the_answer_is_the_highest_load_below_the_first_miss() {
    let (yes, no, open) = (Met::True, Met::False, Met::Inconclusive);
    let levels = [(1, open), (2, yes), (8, yes), (16, open), (32, open), (64, no)];
    let levels = levels.map(|(load, met)| (users(load), met));
    let answer = Answer::new(&with_levels(&levels));
    assert_eq!(
        answer.sentence,
        "2 and 8 users stay within the objective; 1, 16 and 32 users are undecided; 64 users miss TTFT p99."
    );
    let expected =
        ["✓ Measurement valid", "✓ Met at 2 and 8 users", "? Undecided at 1, 16 and 32 users", "✗ Missed at 64 users"];
    assert_eq!(tags(&answer), expected);
}

#[test]
fn the_order_of_the_stages_does_not_matter_and_a_miss_below_counts() {
    let levels = [(open(20.0), Met::True), (open(5.0), Met::True), (open(10.0), Met::False)];
    let answer = Answer::new(&with_levels(&levels));
    let expected = "Up to 5 requests/s stay within the objective; 10 requests/s miss TTFT p99.";
    assert_eq!(answer.sentence, expected);
}

#[test]
fn loads_that_all_hold_and_loads_that_none_hold_have_sentences() {
    let sentence = |levels: &[(Load, Met)]| Answer::new(&with_levels(levels)).sentence;
    let all = [(users(1), Met::True), (users(4), Met::True)];
    assert_eq!(sentence(&all), "Every load up to 4 users stays within the objective.");
    let nothing = [(users(1), Met::False), (users(4), Met::False)];
    assert_eq!(sentence(&nothing), "No load was shown to stay within the objective; 1 user misses TTFT p99.");
    let unknown = [(users(1), Met::Inconclusive), (users(4), Met::Inconclusive)];
    assert_eq!(sentence(&unknown), "No load has a verdict on the objective; 1 and 4 users are undecided.");
}

#[test]
fn without_a_common_load_the_objectives_are_counted() {
    let mut report = with_levels(&[(users(1), Met::True), (open(4.0), Met::True)]);
    assert_eq!(Answer::new(&report).sentence, "The objective is met: TTFT p99 is 72.9 ms, limit 80 ms.");
    report.objectives.push(objective("p", Met::False, Some(812.0)));
    report.objectives[1].observed_stage = Some("s1".into());
    let answer = Answer::new(&report);
    assert_eq!(answer.sentence, "1 of 2 objectives is missed: TTFT p99 is 812 ms in stage s1, limit 80 ms.");
    assert_eq!(tags(&answer)[1..], ["✓ 1 of 2 objectives met", "✗ 1 of 2 objectives missed"]);
    report.objectives = vec![objective("q", Met::Inconclusive, None); 5];
    let expected = "All 5 objectives are undecided: TTFT p99 was not measured, limit 80 ms; TTFT p99 was not measured, limit 80 ms; TTFT p99 was not measured, limit 80 ms; and 2 more.";
    assert_eq!(Answer::new(&report).sentence, expected);
}

#[test]
fn without_objectives_the_sentence_makes_no_claim() {
    let mut report = report();
    let answer = Answer::new(&report);
    assert!(answer.sentence.starts_with("No objectives were set. "), "{}", answer.sentence);
    assert!(answer.sentence.contains(" at 10 requests/s"), "{}", answer.sentence);
    assert_eq!(tags(&answer), ["✓ Measurement valid", " No objectives set"]);
    report.stages[0].figures.throughput = None;
    assert_eq!(Answer::new(&report).sentence, "No objectives were set, and no request succeeded.");
}

#[test]
fn an_invalid_run_begins_with_its_reason_and_a_stopped_one_with_its_stage() {
    let mut report = with_levels(&[(users(1), Met::Inconclusive), (users(2), Met::Inconclusive)]);
    report.outcome = Outcome::Invalid;
    report.reasons = vec![ReasonDocument {
        reason: "SendLagTooLarge".into(),
        message: "the lag is\n12ms (p99); lower the rate.".into(),
    }];
    let answer = Answer::new(&report);
    assert_eq!(answer.sentence, "The measurement is not valid: the lag is 12ms.");
    assert_eq!(tags(&answer), ["✗ Measurement not valid"]);
    report.outcome = Outcome::Cancelled;
    assert_eq!(Answer::new(&report).sentence, "The run was stopped in stage 2 of 2.");
    assert_eq!(tags(&Answer::new(&report)), ["? Stopped early"]);
}

#[test]
fn a_stage_that_does_not_count_is_named() {
    let mut report = with_levels(&[(users(1), Met::True), (users(2), Met::Inconclusive)]);
    report.stages[1].invalid = vec!["SendLagTooLarge: 12ms".into()];
    assert_eq!(tags(&Answer::new(&report))[0], "? Measurement not valid in s1");
}

#[test]
fn a_minimum_of_a_rate_and_a_baseline_have_no_highest_load() {
    let mut report = with_levels(&[(users(1), Met::False), (users(8), Met::True)]);
    report.objectives[0].baseline_limit = Some(60.0);
    assert_eq!(Answer::new(&report).sentence, "The objective is missed: TTFT p99 is 72.9 ms, limit 60 ms.");
    assert_eq!(best_stage(&report), None);
    report.objectives[0].baseline_limit = None;
    assert_eq!(Answer::new(&report).sentence, "8 users stay within the objective; 1 user misses TTFT p99.");
    let min = ObjectiveDocument { bound: "min".into(), unit: "perSecond".into(), ..report.objectives[0].clone() };
    report.objectives[0] = min;
    assert!(Answer::new(&report).sentence.starts_with("The objective is missed: "));
}

#[test]
fn the_best_stage_is_the_one_with_the_highest_load_in_any_order() {
    let levels = [(users(64), Met::False), (users(8), Met::True), (users(1), Met::True)];
    assert_eq!(best_stage(&with_levels(&levels)), Some(1));
    let mut report = with_levels(&levels);
    // A stage that is entirely warm-up has no result.
    report.objectives[0].stages.remove(2);
    assert_eq!(best_stage(&report), Some(1));
}

#[test]
fn the_best_stage_of_a_search_is_its_answer() {
    // Trials repeat loads, and a trial at a higher load may meet the objectives by chance.
    let mut report = with_levels(&[(open(4.0), Met::True), (open(8.0), Met::True), (open(4.0), Met::True)]);
    let answer = |stage: &str| {
        serde_json::json!({
            "over": "Rate", "budgetSeconds": 1200.0, "usedSeconds": 900.0, "stopped": "confirmed", "trials": [],
            "answer": {"load": 4.0, "risk": 0.05, "stage": stage},
        })
    };
    report.search = serde_json::from_value(answer("s2")).unwrap();
    assert_eq!(best_stage(&report), Some(2));
    report.search.as_mut().unwrap().answer = None;
    assert_eq!(best_stage(&report), None);
}

#[test]
fn many_loads_are_counted() {
    let levels: Vec<_> = (1..=40).map(|load| (users(load), Met::Inconclusive)).collect();
    let answer = Answer::new(&with_levels(&levels));
    assert!(answer.sentence.ends_with("1, 2, 3, 4, 5, 6 and 34 more users are undecided."), "{}", answer.sentence);
    assert!(answer.tags[1].text.ends_with("34 more users"), "{:?}", answer.tags);
}

#[test]
fn a_value_and_its_limit_never_read_alike() {
    let mut report = with_levels(&[(users(1), Met::False), (open(4.0), Met::True)]);
    report.objectives[0].observed = Some(80.04);
    assert_eq!(Answer::new(&report).sentence, "The objective is missed: TTFT p99 is 80.04 ms, limit 80 ms.");
    let of = |unit: &str, limit: f64, observed: f64| {
        let it = ObjectiveDocument { unit: unit.into(), limit, ..objective("o", Met::False, Some(observed)) };
        (it.observed_text(observed), it.exact_text(limit))
    };
    assert_eq!(of("ms", 1_234.0, 1_234.0), ("1.23 s".into(), "1234 ms".into()));
    assert_eq!(of("ms", 2_000.0, 2_001.0), ("2001 ms".into(), "2 s".into()));
    assert_eq!(of("share", 0.0, 0.000_01), ("0.001 %".into(), "0 %".into()));
}
