//! Tests the layout of the report of a sweep: stages come first, tables fit a terminal, and percentiles of too few values have a mark.

use std::time::Duration;

use measurement::record::RequestRecord;
use report::{markdown, paint::Paint, terminal};
use workload_profiles::workload::{Goodput, PromptReuse, Stage};

use crate::fixture::{Fixture, ms};

/// Seven stages with 4 to 256 requests. The TTFT increases by 40 ms from stage to stage.
pub fn sweep() -> Fixture {
    let mut fixture = Fixture::new();
    let (record, wire) = fixture.requests[0].clone();
    let closed = fixture.workload.stages[1].clone();
    let names = (0..7).map(|it| format!("concurrency-{}", 1 << it));
    fixture.workload.stages = names.map(|name| Stage { name, ..closed.clone() }).collect();
    let request = |stage: u32, number: u64| {
        let begin = ms(123_456) * stage;
        let after = |it: Option<Duration>| it.map(|it| it + begin + ms(40) * stage);
        let record = RequestRecord {
            stage,
            number,
            turn: None,
            scheduled: record.scheduled + begin,
            sent: record.sent.map(|it| it + begin),
            first_token: after(record.first_token),
            last_token: after(record.last_token),
            ended: record.ended + begin + ms(40) * stage,
            ..record.clone()
        };
        (record, wire.clone())
    };
    fixture.requests = (0..7)
        .flat_map(|stage| (0..4 << stage).map(move |number| (stage, number)))
        .map(|(stage, number)| request(stage, number))
        .collect();
    fixture
}

fn table(fixture: &Fixture) -> String {
    terminal::table(&fixture.report(&fixture.analyse()).document().unwrap(), Paint::OFF)
}

fn page(fixture: &Fixture) -> String {
    let analysed = fixture.analyse();
    markdown::render(&fixture.report(&analysed).document().unwrap())
}

#[test]
fn prompts_of_a_salt_that_was_given_are_not_called_new() {
    let mut fixture = Fixture::new();
    assert!(page(&fixture).contains("It sends the prompts of this run, because it sets profile.promptSalt 2f9c4e0a"));
    fixture.run.prompt_salt = "of-an-earlier-run".into();
    let text = page(&fixture);
    assert!(text.contains("prompts=replayed") && !text.contains("It sends the prompts of this run"), "{text}");
    assert!(text.contains("This run had profile.promptSalt of-an-earlier-run"), "{text}");
    // Texts that derive from a seed do not change with the salt.
    for prompts in [PromptReuse::PerStage, PromptReuse::Repeated] {
        fixture.workload.prompts = prompts;
        let text = page(&fixture);
        assert!(
            text.contains("For new prompts, set another spec.seed") && !text.contains("promptSalt of-an"),
            "{text}"
        );
    }
}

/// Checks that the parts appear in a text in this order.
fn check_order(text: &str, parts: &[&str]) {
    let places: Vec<Option<usize>> = parts.iter().map(|it| text.find(it)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{parts:?} at {places:?} of {text}");
}

#[test]
fn a_sweep_begins_with_its_stages() {
    let fixture = sweep();
    check_order(
        &table(&fixture),
        &["Passed", "good", "concurrency-1 ", "concurrency-64", "508 requests", "launcher healthy:"],
    );
    check_order(
        &page(&fixture),
        &["## Stages", "good share", "concurrency-64", "## All stages together", "TTFT from", "## How far to trust"],
    );
    // A distribution over several loads describes none of them, so it is not shown.
    assert!(!table(&fixture).contains("TTFT from"));
    assert!(table(&Fixture::of_one_stage()).contains("TTFT from"));
}

#[test]
fn what_is_the_largest_of_too_few_values_is_marked_in_stages_too() {
    for text in [table(&sweep()), page(&sweep())] {
        let row = |name: &str| text.lines().find(|it| it.contains(name)).unwrap();
        assert!(row("concurrency-1 ").contains("40ms*"), "{text}");
        assert!(row("concurrency-64").contains("280ms") && !row("concurrency-64").contains("280ms*"), "{text}");
        assert!(text.contains("* this percentile is the largest value"), "{text}");
    }
}

#[test]
fn passed_is_not_quoted_without_the_share_that_met_the_goals() {
    let mut fixture = sweep();
    for text in [table(&fixture), page(&fixture)] {
        let first = text.lines().find(|it| it.contains("Passed")).unwrap();
        assert!(
            first.contains("Passed") && first.contains("0 % to 100 % of the requests of a stage met the goals"),
            "{first}"
        );
    }
    fixture.workload.goodput.ttft = Some(crds::units::Span(ms(1)));
    assert!(
        table(&fixture).contains("\nPassed: org/model-8b, a valid measurement; 0 % of the requests met the goals\n")
    );
    assert!(page(&fixture).contains("It does not mean that the goals were met"));
    fixture.workload.goodput = Goodput::default();
    assert!(table(&fixture).contains("\nPassed: org/model-8b\n"));
}
