//! The first screen and the tables.

use serde_json::{Value, json};

use crate::{
    fixture::{Level, full, older, read, sweep},
    run::render,
};

/// The text of the page without its markup, with normal blanks for non-breaking ones.
fn text(document: &Value) -> String {
    let page = render(&read(document)).unwrap();
    let body = page.split_once("<main").and_then(|(_, rest)| rest.split_once("</main>")).unwrap().0;
    let mut text = String::new();
    for part in body.split('<').skip(1) {
        let inside = part.split_once('>').map_or("", |it| it.1).trim();
        if !inside.is_empty() {
            text.push_str(inside);
            text.push('\n');
        }
    }
    text.replace('\u{a0}', " ").replace("&#39;", "'")
}

#[track_caller]
fn check(document: &Value, parts: &[&str]) {
    let text = text(document);
    for part in parts {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn one_load_has_a_tile_for_each_figure_with_its_interval_or_why_it_has_none() {
    check(
        &full(),
        &[
            "Requests/s\n10\nasked\n10\nsent\n10\n9.5 to 10.5\n",
            "Errors\n0 %\n0 of 10 requests failed\n",
            "Goodput/s\n5\n50 % of the requests met every goal\n",
            "TTFT\np50\n49 ms\n47 to 52 ms\np90\n57 ms\np99\n59 ms\nthe largest value\n\
             10 values; too few independent ones for an interval of p90\n",
            "The stage is steady, from 400 to 900 ms.\n",
        ],
    );
    let mut document = full();
    document["stages"][0]["figures"].as_object_mut().unwrap().remove("goodput");
    document["stages"][0]["uncertainty"] = json!({"absent": "the launcher kept no records"});
    check(&document, &["Goodput/s\n–\nthe profile sets no goals\n"]);
    check(&document, &["10 values; no intervals: the launcher kept no records\n"]);
}

#[test]
fn several_loads_have_a_row_each_and_no_pooled_latency() {
    let level = |rate, done| Level { rate, done, mean_ms: 90.0, count: 10 };
    let document = sweep(&[level(5.0, 5.0), level(20.0, 18.5)]);
    check(
        &document,
        &[
            "Requests/s\n18.5\nthe most: stage s1\n",
            "s0\n5 requests/s\n10\n0 %\n5\n",
            "s1\n20 requests/s\n10\n0 %\n18.5\n",
            "49 ms\n59 ms*\n",
            "p50\n49 to 49 ms\nfrom the fastest to the slowest stage; p99 needs 100 values, which no stage has\n",
        ],
    );
}

#[test]
fn a_stage_that_the_launcher_disturbed_is_no_end_of_a_span() {
    let level = |rate| Level { rate, done: rate, mean_ms: 90.0, count: 100 };
    let mut document = sweep(&[level(5.0), level(20.0), level(40.0)]);
    for (stage, p99) in [(0, 50.0), (1, 70.0), (2, 99_000.0)] {
        document["stages"][stage]["figures"]["ttftMs"]["p99"] = p99.into();
    }
    document["stages"][2]["invalid"] = json!(["the machine stalled"]);
    check(
        &document,
        &[
            "Requests/s\n20\nthe most among valid stages: stage s1\n",
            "p99\n50 to 70 ms\nfrom the fastest to the slowest stage among valid stages\n",
        ],
    );
}

#[test]
fn a_percentile_of_few_values_is_in_no_span_of_stages() {
    let level = |count| Level { rate: 10.0, done: 10.0, mean_ms: 90.0, count };
    let mut document = sweep(&[level(100), level(200), level(99)]);
    for (stage, p99) in [(0, 92.97), (1, 10_070.0), (2, 99_000.0)] {
        document["stages"][stage]["figures"]["ttftMs"]["p99"] = p99.into();
    }
    check(
        &document,
        &["p99\n92.97 ms to 10.07 s\nfrom the fastest to the slowest stage; p99 needs 100 values, which 2 of 3 have\n"],
    );
}

#[test]
fn the_latencies_of_stages_stand_below_each_other() {
    let level = |rate| Level { rate, done: rate, mean_ms: 90.0, count: 10 };
    let text = text(&sweep(&[level(5.0), level(20.0)]));
    let (_, latencies) = text.split_once("\nLatencies\n").unwrap();
    let row = |name: &str, stage: &str| latencies.find(&format!("{name}\n{stage}\n")).unwrap();
    let places = [row("TTFT", "s0"), row("TTFT", "s1"), row("Latency", "s0"), row("Latency", "s1")];
    assert!(places.is_sorted(), "{places:?}");
    assert!(latencies.contains("TTFT from sent\n"));
}

#[test]
fn a_closed_loop_has_no_second_clock() {
    let mut document = older();
    document["stages"][0]["clock"] = "sent".into();
    assert!(!text(&document).contains("from sent\n"));
}

#[test]
fn the_verdict_is_in_words_and_says_what_it_does_not_mean() {
    check(
        &older(),
        &["The measurement is valid. No objective was set, so that this is no word on how fast the server is."],
    );
    let mut document = older();
    document["outcome"] = "Invalid".into();
    document["partial"] = true.into();
    document["reasons"] = json!([{"reason": "SendLagTooLarge", "message": "the launcher sent late"}]);
    check(
        &document,
        &[
            "These figures do not count",
            "the figures are of a part of the load",
            "SendLagTooLarge\n: the launcher sent late",
        ],
    );
}

#[test]
fn a_missed_objective_that_is_only_reported_is_not_called_met() {
    let mut document = older();
    let objective = |name: &str, met: &str| json!({"name": name, "metric": "ttft", "stat": "p99", "bound": "max", "limit": 50.0, "unit": "ms", "met": met});
    let only = "spec.slo.enforcement is Report, so that this does not change the outcome.";
    for (objectives, words) in [
        (json!([objective("a", "True")]), "The measurement is valid, and every objective is met.".to_owned()),
        (json!([objective("a", "False")]), format!("The measurement is valid. 1 of 1 objectives is missed; {only}")),
        (
            json!([objective("a", "False"), objective("b", "False"), objective("c", "Inconclusive")]),
            format!("The measurement is valid. 2 of 3 objectives are missed, and 1 inconclusive; {only}"),
        ),
    ] {
        document["objectives"] = objectives;
        check(&document, &[&words]);
        let tone = if words.contains("every") { "good" } else { "doubt" };
        let head = serde_json::to_value(crate::run::head::Head::new(&read(&document))).unwrap();
        assert_eq!(head["tone"], tone);
    }
}

#[test]
fn objectives_stand_with_what_was_observed() {
    let mut document = older();
    document["outcome"] = "SLOViolated".into();
    document["objectives"] = json!([
        {"name": "fast", "metric": "ttft", "stat": "p99", "stage": "*", "bound": "max", "limit": 50.0, "unit": "ms", "met": "False",
         "observed": 59.0, "observedStage": "r10", "reason": "above the limit"},
        {"name": "few", "metric": "errorRatio", "bound": "max", "limit": 0.01, "unit": "share", "met": "True", "observed": 0.0},
    ]);
    check(
        &document,
        &[
            "1 met, 1 missed, 0 inconclusive.",
            "fast\nmissed\np99 of ttft, in every stage\n59 ms (r10)\nmax 50 ms\nabove the limit\n",
            "few\nmet\nerrorRatio\n0 %\nmax 1 %\n",
        ],
    );
}

#[test]
fn errors_have_their_first_message() {
    let mut document = full();
    document["figures"]["failed"] = 2.into();
    document["stages"][0]["figures"]["failed"] = 2.into();
    document["figures"]["outcomes"] = json!({"ok": 10, "http_503": 2});
    document["figures"]["errorSamples"] = json!({"http_503": "503: no capacity"});
    check(&document, &["16.67 %\n2 of 12 requests failed\n", "http_503\n2\n503: no capacity\n"]);
}

#[test]
fn what_is_in_doubt_and_how_to_repeat_the_run_stand_on_the_first_screen() {
    let mut document = full();
    document["contamination"]["exposure"] = "possible".into();
    document["contamination"]["why"] = "the same seed and salt".into();
    document["serverMetrics"]["remarks"] = json!(["others use the server"]);
    check(
        &document,
        &[
            "The server could have had these prompts in its cache before the run: the same seed and salt.",
            "others use the server",
            "benchwright run -f benchmarkrun.yaml",
            "For new prompts remove promptSalt.",
        ],
    );
}

#[test]
fn loadgen_tests_show_which_rules_held() {
    let mut document = older();
    document["loadgen"] = json!({
        "benchmark": "llama3_1-8b", "round": "v6.1",
        "tests": [{
            "folder": "Performance", "scenario": "Server", "mode": "PerformanceOnly", "audited": false, "result": "INVALID",
            "rules": {"perfConstraintsMet": false, "minDurationMet": true, "minQueriesMet": true, "earlyStoppingMet": false},
            "reasons": ["TTFT is above its limit"], "errors": 0, "warnings": 0, "queries": 1000, "targetQps": 13.0, "samplesPerSecond": 12.5,
            "ttftP99Ms": 812.0,
        }],
        "trials": [{"queriesPerSecond": 10.0, "full": true, "met": true}],
    });
    check(
        &document,
        &[
            "Performance\nServer\nPerformanceOnly\nINVALID\nnot held\nheld\nheld\nnot held\n1,000\n13\n12.5\n–\n812 ms\n–\n0\n",
            "Performance: TTFT is above its limit",
            "A full trial at 10 queries/s met the limits.",
        ],
    );
}

#[test]
fn accuracy_shows_figures_beside_their_limits() {
    let mut document = older();
    document["accuracy"] = json!({
        "check": "llama3.1-8b", "verdict": "Undecided", "reasons": ["2 requests have no answer"],
        "figures": [{"name": "rouge1", "value": 38.8638, "text": "38.8638"}],
        "limits": [{"figure": "rouge1", "isUpper": false, "limit": 38.391408, "value": 38.8638}],
        "notComputed": [{"figure": "rougeLsum", "reason": "no tables"}],
        "scored": 13366, "withoutAnswer": 2, "wanted": 13368,
    });
    check(
        &document,
        &[
            "check llama3.1-8b: Undecided; 13366 of 13368 answers scored; 2 requests have no answer.",
            "rouge1\n38.8638\nat least 38.3914\nnot judged\n",
            "no verdict: 2 requests have no answer",
            "rougeLsum is not computed: no tables",
        ],
    );
}

#[test]
fn an_older_report_has_a_page_that_says_what_is_missing() {
    check(&older(), &["No data.\nThe report has no series over time", "with --metrics-url", "Latencies\n"]);
}

#[test]
fn a_run_without_any_request_has_a_page() {
    let mut document = older();
    for of in ["/figures", "/stages/0/figures"] {
        let figures = document.pointer_mut(of).unwrap().as_object_mut().unwrap();
        figures.retain(|name, value| !value.is_object() && name != "firstDueMs" && name != "lastEndMs");
        for count in ["requests", "succeeded"] {
            figures[count] = 0.into();
        }
        figures.insert("outcomes".to_owned(), json!({}));
    }
    check(&document, &["0 of 0 requests failed", "not measured", "No stage has a request that succeeded"]);
}
