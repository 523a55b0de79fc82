//! Tests `comment.md`.

use report::comment;
use workload_profiles::workload::Stage;

use crate::{
    corners,
    fixture::{Fixture, ms},
    without_version,
};

fn comment_of(fixture: &Fixture) -> String {
    let analysed = fixture.analyse();
    comment::render(&fixture.report(&analysed).document().unwrap())
}

#[test]
fn the_comment_of_two_stages() {
    insta::assert_snapshot!(without_version(&comment_of(&Fixture::new())));
}

#[test]
fn a_comment_tells_the_verdict_the_figures_and_their_intervals() {
    let text = comment_of(&Fixture::of_a_steady_stage());
    for part in [
        "### No objectives were set. ",
        "<code>chat</code>: Passed. ✓ Measurement valid",
        "| <code>r10</code> | 400 | 0 |",
        "95 % intervals",
        "</details>",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    let reasons = comment_of(&Fixture::new());
    assert!(reasons.contains("- **TooManyErrors**"), "{reasons}");
}

/// The number of columns in a table row. Escaped pipes do not count.
fn columns(row: &str) -> usize {
    row.matches('|').count() - 1
}

#[test]
fn hostile_texts_stay_texts() {
    let hostile = "@org/team #1|`x`<img src=x onerror=alert(1)>\n\n# head [a](javascript:b) www.evil.example";
    let mut fixture = Fixture::new();
    fixture.run.run.name = hostile.into();
    fixture.run.profile_source = hostile.into();
    fixture.workload.stages[0].name = hostile.into();
    fixture.run.validity.max_error_ratio = 0.0;
    let text = comment_of(&fixture).replace("&#", "");
    for part in ["@org", "#1", "<img", "[a]", "# head", "javascript:", "www.", "`x`"] {
        assert!(!text.contains(part), "{part} stands in {text}");
    }
    let rows: Vec<&str> =
        text.lines().take_while(|it| !it.contains("<details>")).filter(|it| it.starts_with('|')).collect();
    assert_eq!(rows.len(), 4, "{text}");
    assert!(rows.iter().all(|it| columns(it) == columns(rows[0])), "{rows:#?}");
}

#[test]
fn a_comment_is_below_the_limit_of_github() {
    let mut fixture = Fixture::new();
    let (record, wire) = fixture.requests[0].clone();
    let name = |number: u32| format!("{number} {}", "<@|`>".repeat(400));
    let closed = fixture.workload.stages[1].clone();
    fixture.workload.stages = (0..500).map(|it| Stage { name: name(it), ..closed.clone() }).collect();
    let at = |stage: u32| ms(1_000) * stage;
    fixture.requests = (0..500)
        .map(|stage| {
            let mut record = record.clone();
            record.stage = stage;
            record.scheduled += at(stage);
            record.sent = record.sent.map(|it| it + at(stage));
            record.first_token = record.first_token.map(|it| it + at(stage));
            record.last_token = record.last_token.map(|it| it + at(stage));
            record.ended += at(stage);
            (record, wire.clone())
        })
        .collect();
    let text = comment_of(&fixture);
    assert!(text.len() <= 60_000, "{}", text.len());
    assert!(text.contains("470 more rows in `report.md`"), "{text}");
    for (name, fixture) in corners() {
        let text = comment_of(&fixture);
        assert!(text.starts_with("### ") && text.ends_with('\n') && text.len() < 10_000, "{name}: {text}");
    }
}
