//! Tests that every renderer shows exactly the sections that the list of sections assigns to it.

use document::{Renderer, ReportDocument, Section, Shown};
use report::{comment, markdown, paint::Paint, terminal};
use serde_json::{Value, json};

use crate::{
    fixture::{full, read},
    run::render,
};

/// A run of two stages that has every section.
fn whole() -> Value {
    let mut document = full();
    let times = document["figures"]["ttftMs"].clone();
    document["figures"]["requests"] = json!(11);
    document["figures"]["failed"] = json!(1);
    document["figures"]["outcomes"] = json!({"ok": 10, "http_5xx": 1});
    let steps = json!({"queueMs": times, "buildMs": times, "sendMs": times, "firstByteMs": times, "tokensMs": times, "parseMs": times});
    document["figures"]["steps"] = steps.clone();
    document["stages"][0]["figures"]["steps"] = steps;
    document["stages"][0]["figures"]["interactivity"] = json!({"medianOfInverseTpot": 25.0});
    let mut stage = document["stages"][0].clone();
    stage["name"] = json!("r20");
    document["stages"].as_array_mut().unwrap().push(stage);
    document["objectives"] = json!([
        {"name": "fast", "metric": "ttft", "stat": "p99", "bound": "max", "limit": 1.0, "unit": "ms", "met": "False", "observed": 2.0, "reason": ""},
    ]);
    document["resolvedRun"]["slo"] = json!({
        "enforcement": "Fail", "objectives": [{"name": "fast", "metric": "ttft", "stat": "p99", "bound": {"max": "1ms"}}],
    });
    document["loadgen"] = json!({
        "benchmark": "llama", "round": "v5.0",
        "tests": [{"folder": "run_1", "scenario": "Server", "mode": "PerformanceOnly", "audited": false, "result": "VALID",
                   "reasons": [], "errors": 0, "warnings": 0}],
    });
    document["accuracy"] = json!({
        "check": "rouge", "verdict": "Passed", "figures": [{"name": "rouge1", "value": 40.0, "text": "40.0"}],
        "scored": 10, "withoutAnswer": 0, "method": [],
    });
    document["profiling"] = json!({"kind": "Torch", "stage": "r10", "startMs": 0.0, "durationMs": 10.0, "stages": []});
    document["classes"] = json!([{"name": "gold", "clock": "sent", "figures": document["figures"]}]);
    document["sessions"] =
        json!({"sessions": 3, "complete": 3, "failed": 0, "cutShort": 0, "shortenedTurns": 0, "byTurn": []});
    document["managedServer"] = json!({
        "engine": "Custom", "lifecycle": "PerRun", "reused": false, "distribution": "RoundRobin", "replicas": [],
        "notes": ["a note"],
    });
    document["serverReplicas"] = json!({"asked": 2, "distribution": "RoundRobin", "fallback": "one has no address"});
    document["serverMetrics"]["remarks"] = json!(["a counter was reset"]);
    document["startups"] =
        json!([{"server": "1", "log": "server/1.log", "startup": {"outcome": "ready", "log": {"lines": 9}}}]);
    document
}

/// The result of a search with one trial.
fn search() -> Value {
    json!({
        "over": "Rate", "budgetSeconds": 1200.0, "usedSeconds": 180.0, "stopped": "confirmed",
        "answer": {"load": 4.0, "risk": 0.05, "stage": "02-confirm-r4"},
        "trials": [{
            "stage": "02-confirm-r4", "role": "Confirm", "load": 4.0, "seconds": 180.0, "requests": 700, "verdict": "Passed",
            "belief": 0.98, "objectives": [{"name": "ttft", "share": 0.001, "allowed": 0.01}],
        }],
    })
}

/// The run of [`whole`] with different content in this section, or without it.
fn changed(section: Section) -> Value {
    let mut document = whole();
    let mut remove = |key: &str| _ = document.as_object_mut().unwrap().remove(key);
    match section {
        Section::Head => document["model"] = json!("another"),
        Section::Objectives => remove("objectives"),
        Section::Headline => {
            document["figures"]["throughput"]["requestsPerSecond"] = json!(7.0);
            document["stages"][0]["figures"]["throughput"]["requestsPerSecond"] = json!(77.0);
        }
        // No run has both a search and LoadGen tests, so the run of `whole` has no search.
        Section::Search => document["search"] = search(),
        Section::LoadGen => remove("loadgen"),
        Section::Accuracy => remove("accuracy"),
        Section::Profiling => remove("profiling"),
        Section::Stages => _ = document["stages"].as_array_mut().unwrap().pop(),
        Section::Classes => remove("classes"),
        Section::Figures => {
            document["figures"]["ttftMs"]["p50"] = json!(7.0);
            document["stages"][0]["figures"]["ttftMs"]["p50"] = json!(7.0);
        }
        Section::Steps => {
            document["figures"]["steps"].take();
            document["stages"][0]["figures"]["steps"].take();
        }
        Section::Interactivity => {
            document["stages"][0]["figures"]["interactivity"] = json!({"medianOfInverseTpot": 7.0})
        }
        Section::Cost => {
            document["hardware"]["figures"] = json!({"costPerMillionOutputTokens": 7.0});
            document["hardware"]["stages"][0]["figures"]["costPerMillionOutputTokens"] = json!(7.0);
        }
        Section::Sureness => document["stages"][0]["uncertainty"] = json!({"absent": "no records were kept"}),
        Section::Sessions => remove("sessions"),
        Section::ManagedServer => remove("managedServer"),
        Section::Replicas => remove("serverReplicas"),
        Section::Server => remove("serverMetrics"),
        Section::Startups => remove("startups"),
        Section::Failures => {
            document["figures"]["outcomes"] = json!({"ok": 10, "timeout": 1});
            document["stages"][0]["figures"]["succeeded"] = json!(9);
        }
        Section::Contamination => document["contamination"]["why"] = json!("nobody knows"),
        Section::Judgement => document["selfJudgement"]["remarks"] = json!(["the launcher slept"]),
        Section::Identity => document["toolCommit"] = json!("fedcba"),
        Section::Repeat => {
            document["seeds"]["promptSalt"] = json!("pepper");
            document["resolvedRun"]["promptSalt"] = json!("pepper");
        }
    }
    document
}

fn text(document: &ReportDocument, renderer: Renderer) -> String {
    match renderer {
        Renderer::Terminal => terminal::table(document, Paint::OFF),
        Renderer::Markdown => markdown::render(document),
        Renderer::Comment => comment::render(document),
        Renderer::Page => render(document).unwrap(),
    }
}

#[test]
fn each_renderer_shows_the_sections_that_the_list_names_and_no_other() {
    let document = read(&whole());
    let absent: Vec<Section> = Section::all().filter(|it| !it.is_in(&document)).collect();
    assert_eq!(absent, [Section::Search]);
    let mut wrong = Vec::new();
    for renderer in Renderer::ALL {
        let before = text(&document, renderer);
        for section in Section::all() {
            let is_shown = text(&read(&changed(section)), renderer) != before;
            if is_shown != (section.shown(renderer) != Shown::No) {
                wrong.push((section, renderer, is_shown));
            }
        }
    }
    assert!(wrong.is_empty(), "not as the list says: {wrong:?}");
}

#[test]
fn the_markdown_report_has_its_headings_in_the_order_of_the_list() {
    let document = read(&whole());
    let text = markdown::render(&document);
    let found: Vec<&str> = text.lines().filter_map(|it| it.strip_prefix("## ")).collect();
    let shown = Section::of(&document, Renderer::Markdown).filter(|it| *it != Section::Head);
    let expected: Vec<&str> =
        shown.map(|it| if it == Section::Figures { "All stages together" } else { it.title() }).collect();
    assert_eq!(found, expected);
}
