//! `benchwright bench` of the built binary, small: every part runs, every request is matched, every figure is there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use crate::common::{Folder, profile, simulated};
use predicates::prelude::*;
use serde_json::Value;

/// Runs it, and returns its JSON.
fn bench(folder: &Folder, arguments: &[&str]) -> Value {
    let all = [&["bench", "--quick", "--json", "figures.json"], arguments].concat();
    folder.benchwright(&all).assert().success();
    serde_json::from_str(&fs::read_to_string(folder.path("figures.json")).unwrap()).unwrap()
}

fn names(document: &Value) -> Vec<&str> {
    document["figures"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}

#[test]
fn every_figure_is_measured_and_every_request_is_matched() {
    let folder = Folder::new();
    let document = bench(&folder, &["--markdown", "docs/performance.md"]);
    let names = names(&document);
    for name in [
        "streams4.cpuRatio",
        "streams4.held",
        "streams4.ttftError.p99",
        "streams4.itlError.bare.p50",
        "wave16.sendSpreadMs",
        "rate200.constant.lag.p50",
        "rate200.poisson.arrivalLag.p99",
        "rate400.achieved",
        "planned.lagRatio",
        "conversations.lagRatio",
        "memory.stream40",
        "memory.growth",
        "start.firstRequest",
        "report500",
        "prompts.words.ratio",
        "prompts.prose.exact",
        "recording.request",
        "recording.plain",
        "scrapes2.cpu",
        "others",
    ] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    for figure in document["figures"].as_array().unwrap() {
        assert_eq!(figure["values"].as_array().unwrap().len(), 1, "{figure}");
    }
    let notes = document["notes"].to_string();
    for fault in ["failed", "could not be matched", "not measured"] {
        assert!(!notes.contains(fault), "{notes}");
    }
    let markdown = fs::read_to_string(folder.path("docs/performance.md")).unwrap();
    assert!(markdown.starts_with("# Performance\n") && markdown.contains("--quick"), "{markdown}");
}

#[test]
fn a_group_can_be_measured_alone_and_several_times() {
    let folder = Folder::new();
    let document = bench(&folder, &["--only", "wave", "--runs", "2"]);
    let others = ["wave16.sendSpreadMs", "wave16.ttftError.p50", "wave16.ttftError.p99", "others"];
    assert_eq!(names(&document), others);
    assert_eq!(document["figures"][0]["values"].as_array().unwrap().len(), 2);
}

#[test]
fn its_parts_are_no_commands_for_people() {
    let folder = Folder::new();
    folder.benchwright(&["--help"]).assert().success().stdout(predicate::str::contains("bench-part").not());
    folder.benchwright(&["bench-part", "{}"]).assert().code(10).stderr(predicate::str::contains("internal command"));
    folder.benchwright(&["bench", "--only", "nothing"]).assert().code(10).stderr(predicate::str::contains("streams"));
}

#[test]
fn a_load_that_fits_is_told_with_its_margin_and_one_that_does_not_with_a_remedy() {
    let folder = Folder::new();
    let slots = "type: concurrent, stages: [{concurrency_level: 2, num_requests: 4}]";
    let open = profile(1_000_000, 1);
    let (before, after) = (open.find("type: constant").unwrap(), open.find("}, api").unwrap());
    folder.write("small.yaml", &simulated(&format!("{}{slots}{}", &open[..before], &open[after..])));
    folder.write("flood.yaml", &simulated(&open.replace("duration: 1", "duration: 0.005")));
    let ask = |more: &[&str]| folder.benchwright(&[&["bench", "--itl", "1ms", "--for"], more].concat());
    let yes = || predicate::str::starts_with("yes: ").and(predicate::str::contains("would still fit"));
    ask(&["small.yaml"]).assert().success().stdout(yes());
    for form in ["api.type=chat", "api.streaming=false"] {
        ask(&["small.yaml", "-o", form]).assert().success().stdout(yes());
    }
    // A rate at which a draw of some seconds holds no request.
    folder.write("rare.yaml", &simulated(&open.replace("rate: 1000000, duration: 1", "rate: 0.01, duration: 600")));
    let assumed = predicate::str::contains("1ms to each further token (--ttft, --itl)");
    ask(&["rare.yaml"]).assert().success().stdout(yes().and(assumed).and(predicate::str::contains("not judged: ")));
    // So many requests that no machine sends them.
    ask(&["flood.yaml"])
        .assert()
        .code(1)
        .stdout(predicate::str::starts_with("no: ").and(predicate::str::contains("lower the rate, or give it")));
    folder
        .benchwright(&["bench", "--for", "nowhere.yaml"])
        .assert()
        .code(10)
        .stderr(predicate::str::contains("nowhere.yaml"));
    ask(&["small.yaml", "--quick"]).assert().code(10).stderr(predicate::str::contains("--quick"));
}
