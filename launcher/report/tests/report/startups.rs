//! Tests how each format shows the starts of servers that the run itself started.

use std::fs;

use document::{Parts, ReportDocument, ServerStart};
use report::{Attachments, Folder, markdown};
use serde_json::json;
use workload_profiles::workload::Work;

use crate::{fixture::Fixture, json_of_report};

/// One server that became ready, and one server that did not.
fn starts() -> Vec<ServerStart> {
    let starts = json!([
        {"server": "1", "log": "server/1.log", "observedReadySeconds": 42.25, "startup": {
            "outcome": "ready", "engine": "vllm", "version": "0.32.0", "model": "a|b",
            "started": "2026-11-21T02:08:51Z", "ready": "2026-11-21T02:09:31Z", "readySeconds": 40.0,
            "figures": {"weightsLoadSeconds": 3.25},
            "steps": [{"name": "Model Loading", "process": {"name": "Worker", "pid": 7}, "processes": 2,
                       "started": "2026-11-21T02:09:00Z", "seconds": 6.0}],
            "log": {"lines": 99}}},
        {"server": "2", "log": "server/2.log", "startup": {
            "outcome": "failed", "failure": {"error": "ValueError: <no>", "line": 9, "lastLine": "end"}, "log": {"lines": 10}}},
    ]);
    serde_json::from_value(starts).unwrap()
}

#[test]
fn a_run_that_started_no_server_says_nothing_of_it() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let report = fixture.report(&analysed);
    assert!(json_of_report(&report).get("startups").is_none());
    assert!(!markdown::render(&report.document().unwrap()).contains("How the servers started"));
}

#[test]
fn the_report_has_the_start_of_each_server() {
    let fixture = Fixture::new();
    let analysed = fixture.analyse();
    let starts = starts();
    let report = Parts { startups: &starts, ..fixture.report(&analysed) };

    let document = json_of_report(&report);
    assert_eq!(document["startups"][0]["startup"]["steps"][0]["name"], "Model Loading");
    let read = ReportDocument::read(&document.to_string()).unwrap();
    assert_eq!(read.startups, starts);

    let text = markdown::render(&report.document().unwrap());
    let rows = [
        "## How the servers started",
        "| | server 1 | server 2 |",
        "| outcome | ready | failed |",
        "| model | a\\|b |  |",
        "| launch to ready | 42.2 s |  |",
        "| start to ready | 40 s |  |",
        "| Model Loading | 6 s |  |",
        "| printed: weights load | 3.25 s |  |",
        "- server 1: Model Loading is the value of the last of 2 processes",
        "- server 2: failed, line 9: ValueError: &lt;no>",
    ];
    for row in rows {
        assert!(text.lines().any(|it| it == row), "no {row:?} in\n{text}");
    }
}

#[test]
fn a_run_that_measures_a_start_has_the_file_of_the_original() {
    let starts = starts();
    for (work, has_file) in [(Work::Load, false), (Work::Startup, true)] {
        let mut fixture = Fixture::new();
        fixture.workload.work = work;
        let analysed = fixture.analyse();
        let report = Parts { startups: &starts, ..fixture.report(&analysed) };
        let root = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(root.path(), "a1").unwrap();
        report::write_report(&mut folder, &report, &report.document().unwrap(), &Attachments::default(), None).unwrap();
        let path = folder.finish().unwrap().path.join("result.yaml");
        assert_eq!(path.exists(), has_file, "{work:?}");
        if has_file {
            let text = fs::read_to_string(path).unwrap();
            for part in ["- name: server 1\n", "pod_start: 42.25\n", "title: Model Loading\n", "- name: server 2\n"] {
                assert!(text.contains(part), "no {part:?} in {text}");
            }
        }
    }
}
