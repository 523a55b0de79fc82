//! Tests the content of the page's sections.

use serde_json::{Value, json};

use crate::{
    fixture::{Level, full, older, read, sweep},
    run::render,
};

/// The text of the page without markup. Non-breaking spaces become normal spaces.
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

/// The markup from the id of a section to its end.
fn section(document: &Value, id: &str) -> String {
    let page = render(&read(document)).unwrap();
    let start = format!("id=\"{id}\"");
    page.split_once(&start).and_then(|(_, rest)| rest.split_once("</section>")).map(|it| it.0.to_owned()).unwrap()
}

fn level(rate: f64) -> Level {
    Level { rate, done: rate, mean_ms: 90.0, count: 100 }
}

/// An objective on TTFT with a result for each stage.
fn objective(met: &str, stages: &[(&str, &str, f64, [f64; 2])]) -> Value {
    let stage = |(name, met, observed, [low, high]): &(&str, &str, f64, [f64; 2])| json!({"stage": name, "met": met, "observed": observed, "low": low, "high": high, "values": 100});
    let stages: Vec<Value> = stages.iter().map(stage).collect();
    json!({
        "name": "fast", "metric": "ttft", "stat": "p90", "stage": "*", "bound": "max", "limit": 80.0, "unit": "ms", "met": met,
        "stages": stages,
    })
}

#[test]
fn one_load_has_tiles_with_intervals_and_charts_over_time() {
    check(
        &full(),
        &[
            "TTFT p90\n57.0 ms\n10 answers\n",
            "Requests\n10.0/s\n9.50 to 10.5; asked 10.0; sent 10.0\n",
            "Goodput\n5.00/s\n50 % of the requests met every goal\n",
            "Errors\n0 %\n0 of 10 requests failed\n",
        ],
    );
    let page = render(&read(&full())).unwrap();
    let hero = page.split_once("class=\"hero\"").and_then(|(_, rest)| rest.split_once("class=\"matrix\"")).unwrap().0;
    assert!(
        hero.contains("id=\"time-ttft\"") && hero.contains("id=\"time-latency\"") && !hero.contains("id=\"load-"),
        "{hero}"
    );
    check(&full(), &["Charts by load\n", "the run has one load"]);
}

#[test]
fn a_sweep_has_charts_by_load_and_a_row_of_figures_for_each_load() {
    let document = sweep(&[level(5.0), level(20.0)]);
    let page = render(&read(&document)).unwrap();
    let hero = page.split_once("class=\"hero\"").and_then(|(_, rest)| rest.split_once("class=\"matrix\"")).unwrap().0;
    for id in ["load-ttft", "load-tpot", "load-latency"] {
        assert!(hero.contains(&format!("id=\"{id}\"")), "{id}");
    }
    check(
        &document,
        &[
            "Offered load (requests/s)\nAnswers\nRequests/s\nOutput tokens/s\n",
            "TTFT (ms)\nITL (ms)\nTPOT (ms)\nLatency (ms)\n",
            "5\ns0\n10\n5.00\n",
            "20\ns1\n10\n20.0\n",
            "TTFT p90 at 20 requests/s\n",
        ],
    );
}

#[test]
fn the_answer_comes_first_with_a_sign_for_each_verdict() {
    let mut document = sweep(&[level(5.0), level(20.0)]);
    let stages = [("s0", "True", 70.0, [65.0, 75.0]), ("s1", "False", 90.0, [88.0, 91.0])];
    document["objectives"] = json!([objective("False", &stages)]);
    let answer = ::document::answer::Answer::new(&read(&document));
    let text = text(&document);
    let sentence = text.find(&answer.sentence).unwrap();
    assert!(text[..sentence].lines().count() < 10, "{text}");
    for tag in answer.tags {
        assert!(text.contains(&format!("{} {}", tag.state.sign(), tag.text)), "{text}");
    }
    assert!(sentence < text.find("Objectives by").unwrap());
}

#[test]
fn figures_have_their_interval_below_and_a_mark_at_the_largest_value() {
    let figures = section(&full(), "table-figures");
    assert!(figures.contains("49.0<small>47.0 to 52.0</small>"), "{figures}");
    assert!(figures.contains("59.0*</td>"), "{figures}");
    assert!(figures.contains("10.0<small>9.50 to 10.5</small>"), "{figures}");
}

#[test]
fn figures_of_a_stage_that_is_not_valid_stand_in_brackets() {
    let mut document = sweep(&[level(5.0), level(20.0)]);
    document["stages"][1]["invalid"] = json!(["the machine stalled"]);
    check(&document, &["20\ns1, not valid\n10\n(20.0)\n", "Stage s1 is not valid: the machine stalled\n"]);
    document["outcome"] = "Invalid".into();
    document["reasons"] = json!([{"reason": "SendLagTooLarge", "message": "the launcher sent late"}]);
    let text = text(&document);
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}"));
    assert!(
        place("the launcher sent late") < place("SendLagTooLarge\n") && place("SendLagTooLarge\n") < place("(20.0)")
    );
    assert!(place("s0\n10\n5.00\n") > 0, "one bad stage leaves the other");
}

#[test]
fn a_run_that_is_not_valid_draws_no_latency() {
    let mut document = full();
    document["outcome"] = "Invalid".into();
    let page = render(&read(&document)).unwrap();
    assert!(!page.contains("class=\"hero\"") && !page.contains("id=\"load\""), "{page}");
    let details = page.split_once("id=\"time\"").unwrap().1;
    let chart = details.find("id=\"time-ttft\"").unwrap();
    assert!(details[..chart].contains("<details class=\"fold"), "what may explain it is folded");
    check(&document, &["(49.0)", "The measurement is not valid: its figures are not drawn."]);
}

#[test]
fn without_objectives_the_matrix_has_no_verdict_and_says_how_to_set_some() {
    let matrix = section(&sweep(&[level(5.0), level(20.0)]), "heading-matrix");
    assert!(matrix.contains("No objectives were set.") && matrix.contains("spec.slo"), "{matrix}");
    for class in ["good", "bad", "doubt"] {
        assert!(!matrix.contains(&format!("class=\"{class}\"")), "{matrix}");
    }
}

#[test]
fn a_matrix_has_the_verdict_of_each_stage_with_a_sign_and_a_word() {
    let mut document = sweep(&[level(5.0), level(20.0)]);
    let stages = [("s0", "True", 70.0, [65.0, 75.0]), ("s1", "False", 90.0, [88.0, 91.0])];
    document["objectives"] = json!([objective("False", &stages)]);
    let matrix = section(&document, "heading-matrix");
    assert!(matrix.contains("TTFT p90<br>≤\u{a0}80\u{a0}ms"), "{matrix}");
    assert!(
        matrix.contains("<i aria-hidden=\"true\">✓</i><span class=\"visually-hidden\">met: </span>70.0</b><small>65.0 to 75.0</small>"),
        "{matrix}"
    );
    assert!(
        matrix.contains("<i aria-hidden=\"true\">✗</i><span class=\"visually-hidden\">missed: </span>90.0"),
        "{matrix}"
    );
    assert!(matrix.contains("<tr class=\"best\"><th scope=\"row\">5</th>"), "{matrix}");
}

#[test]
fn objectives_stand_in_full_with_what_was_observed() {
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
            "1 met, 1 missed, 0 undecided.",
            "fast\nmissed\np99 of ttft, in every stage\n59 ms (r10)\nmax 50 ms\nabove the limit\n",
            "few\nmet\nerrorRatio\n0 %\nmax 1 %\n",
        ],
    );
}

#[test]
fn what_is_undecided_has_a_command_that_may_decide_it() {
    let mut document = sweep(&[level(5.0), level(20.0)]);
    let stages = [("s0", "True", 57.0, [50.0, 60.0]), ("s1", "Inconclusive", 80.0, [70.0, 90.0])];
    document["objectives"] = json!([objective("Inconclusive", &stages)]);
    document["stages"][1]["load"] = json!({"open": {"arrivals": "poisson", "rate": 20.0, "duration": "30s"}});
    document["stages"][0]["load"] = json!({"open": {"arrivals": "poisson", "rate": 5.0, "duration": "30s"}});
    check(
        &document,
        &[
            "Decide offered load 20\n",
            "benchwright run -f benchmarkrun.yaml -o load.stages.1.duration=120\n",
            "Takes about 2 min 30 s. Four times as many answers make intervals about half as wide.",
        ],
    );
    document["resolvedRun"]["harness"] = "benchwright".into();
    check(&document, &["benchwright run -f benchmarkrun.yaml -o stages.1.load.open.duration=120s\n"]);
    document["resolvedRun"]["harness"] = "guidellm".into();
    check(&document, &["Decide offered load 20\nRun these stages four times as long."]);
    assert!(!text(&sweep(&[level(5.0)])).contains("Decide "));
}

#[test]
fn checks_have_their_bounds_and_at_most_five_caveats_are_shown() {
    let mut document = full();
    document["selfJudgement"]["remarks"] = (0..7).map(|it| json!(format!("remark {it}. It has more words."))).collect();
    document["selfJudgement"]["sendLagP99Ms"] = json!(1e6);
    let trust = section(&document, "trust");
    let shown = trust.split_once("All caveats in full").unwrap().0;
    assert!(shown.contains("<li>Remark 4.</li>") && !shown.contains("emark 5"), "{shown}");
    assert!(trust.contains("<li>Remark 6. It has more words.</li>"), "{trust}");
    assert!(shown.contains("✗<span class=\"visually-hidden\"> beyond</span>"), "{shown}");
    assert!(shown.contains("checks passed</span>"), "{shown}");
}

#[test]
fn the_latencies_of_stages_stand_below_each_other() {
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
fn errors_have_their_first_message() {
    let mut document = full();
    document["figures"]["failed"] = 2.into();
    document["stages"][0]["figures"]["failed"] = 2.into();
    document["figures"]["outcomes"] = json!({"ok": 10, "http_503": 2});
    document["figures"]["errorSamples"] = json!({"http_503": "503: no capacity"});
    check(&document, &["16.67 %\n2 of 12 requests failed\n", "Failed (%)\n", "http_503\n2\n503: no capacity\n"]);
}

#[test]
fn caveats_and_how_to_repeat_the_run_are_told() {
    let mut document = full();
    document["contamination"]["exposure"] = "possible".into();
    document["contamination"]["why"] = "the same seed and salt".into();
    document["serverMetrics"]["remarks"] = json!(["other clients used the servers"]);
    check(
        &document,
        &[
            "The server may have had these prompts in its cache before the run: the same seed and salt.",
            "Other clients used the servers",
            "benchwright run -f benchmarkrun.yaml",
            "For new prompts, remove promptSalt.",
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
            "check llama3.1-8b: Undecided; 13366 of 13368 answers scored; 2 requests got no answer.",
            "rouge1\n38.8638\nat least 38.3914\nnot judged\n",
            "no verdict: 2 requests have no answer",
            "rougeLsum is not computed: no tables",
        ],
    );
}

#[test]
fn what_has_no_data_is_a_line_with_its_reason() {
    let absent = section(&older(), "no-data");
    assert!(absent.contains("The report has no series over time") && absent.contains("with --metrics-url"), "{absent}");
    assert!(!absent.contains("<figure"), "{absent}");
    let mut document = full();
    document["serverMetrics"]["timeSeries"]["preemptionsPerSecond"] = json!([0.0, 0.0]);
    assert!(section(&document, "no-data").contains("<span>Preemptions</span> <span>0 throughout</span>"));
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

/// A search with an answer in the first of its two stages, and a trial at twice that load.
fn search() -> Value {
    let mut document = sweep(&[level(4.0), level(8.0)]);
    let trial = |stage: &str, role: &str, load: f64, verdict: &str, value: f64| {
        json!({
            "stage": stage, "role": role, "load": load, "seconds": 60.0, "requests": 240, "verdict": verdict, "belief": 0.5,
            "objectives": [
                {"name": "ttft", "share": 0.1, "allowed": 0.05, "valueMs": value, "limitMs": 100.0},
                {"name": "errors", "share": 0.0, "allowed": 0.01},
            ],
        })
    };
    document["search"] = json!({
        "over": "Rate", "budgetSeconds": 1200.0, "usedSeconds": 120.0, "stopped": "confirmed",
        "answer": {"load": 4.0, "risk": 0.05, "stage": "s0"}, "edge": {"estimate": 5.0, "low": 4.5, "high": 6.0},
        "trials": [trial("s1", "Grow", 8.0, "Failed", 250.0), trial("s0", "Confirm", 4.0, "Passed", 80.0)],
    });
    document
}

#[test]
fn the_tiles_of_a_search_describe_its_answer() {
    let document = search();
    check(&document, &["TTFT p90 at 4 requests/s\n", "Requests at 4 requests/s\n", "Errors at 4 requests/s\n"]);
    let text = text(&document);
    assert!(!text.contains("most at") && !text.contains("at stage s1"), "{text}");
    let without = |it: &mut Value| _ = it["search"].as_object_mut().unwrap().remove("answer");
    let mut document = document;
    without(&mut document);
    check(&document, &["TTFT p90 at 8 requests/s\n"]);
}

#[test]
fn the_main_chart_of_a_search_has_its_objectives_by_load() {
    let page = render(&read(&search())).unwrap();
    let hero = page.split_once("class=\"hero\"").and_then(|(_, rest)| rest.split_once("class=\"matrix\"")).unwrap().0;
    assert!(hero.contains("id=\"search-objectives\"") && !hero.contains("id=\"load-"), "{hero}");
    for text in ["answer 4 requests/s", "capacity", "4 requests/s: ttft at 0.800 of its limit"] {
        assert!(hero.contains(text), "{text} is missing in {hero}");
    }
    assert!(page.contains("id=\"search-trials\""), "the loads of the trials are below");
}
