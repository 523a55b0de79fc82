//! Runs the built bench with small loads. Every part must run, every request must be matched, and every figure must exist.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use assert_cmd::Command;
use predicates::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

const BENCH: &str = env!("CARGO_BIN_EXE_benchwright-bench");

fn command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(BENCH);
    command.args(arguments).current_dir(folder.path());
    command
}

/// Runs the bench, and returns its JSON output.
fn bench(folder: &TempDir, arguments: &[&str]) -> Value {
    let all = [&["--quick", "--json", "figures.json"], arguments].concat();
    command(folder, &all).assert().success();
    serde_json::from_str(&fs::read_to_string(folder.path().join("figures.json")).unwrap()).unwrap()
}

fn names(document: &Value) -> Vec<&str> {
    document["figures"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}

#[test]
fn every_figure_is_measured_and_every_request_is_matched() {
    let folder = TempDir::new().unwrap();
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
    let markdown = fs::read_to_string(folder.path().join("docs/performance.md")).unwrap();
    assert!(markdown.starts_with("# Performance\n") && markdown.contains("--quick"), "{markdown}");
}

#[test]
fn a_group_can_be_measured_alone_and_several_times() {
    let folder = TempDir::new().unwrap();
    let document = bench(&folder, &["--only", "wave", "--runs", "2"]);
    let others = ["wave16.sendSpreadMs", "wave16.ttftError.p50", "wave16.ttftError.p99", "others"];
    assert_eq!(names(&document), others);
    assert_eq!(document["figures"][0]["values"].as_array().unwrap().len(), 2);
}

#[test]
fn wrong_arguments_have_a_remedy() {
    let folder = TempDir::new().unwrap();
    let failed = |arguments: &[&str], words: &str| {
        command(&folder, arguments).assert().failure().stderr(predicate::str::contains(words));
    };
    failed(&["--only", "nothing"], "streams");
    failed(&["bench-part", "{}"], "internal command");
    failed(
        &["--quick", "--program", "nowhere"],
        "nowhere is no file; build it with `cargo build --release -p launcher`",
    );
    command(&folder, &["--help"]).assert().success().stdout(predicate::str::contains("bench-part").not());
}
