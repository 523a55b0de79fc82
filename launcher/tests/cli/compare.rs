//! Comparisons of finished runs, from their folders to the exit code.

use std::fs;

use predicates::prelude::*;
use serde_json::{Value, json};

use crate::common::{Folder, profile, simulated};

/// Creates a finished run of two seconds. Also returns its report, which tests change to get reports of other runs.
fn folder() -> (Folder, Value) {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(60, 2)));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let report = folder.report();
    (folder, report)
}

/// Writes a report of another run: the same report with another identity and some changed fields.
fn write(folder: &Folder, name: &str, report: &Value, change: impl Fn(&mut Value)) {
    let mut report = report.clone();
    report["run"]["uid"] = name.into();
    change(&mut report);
    folder.write(name, &report.to_string());
}

/// Sets the mean TPOT, with a confidence interval of 1 % on each side.
fn tpot(report: &mut Value, mean: f64) {
    let estimate = json!({"value": mean, "low": 0.99 * mean, "high": 1.01 * mean, "effectiveValues": 500.0});
    report["stages"][0]["uncertainty"]["tpotMs"]["mean"] = estimate;
}

#[test]
fn a_gate_fails_on_a_regression_and_tells_what_cannot_be_decided() {
    let (folder, report) = folder();
    write(&folder, "base.json", &report, |it| tpot(it, 10.0));
    write(&folder, "slower.json", &report, |it| tpot(it, 11.0));
    write(&folder, "equal.json", &report, |it| tpot(it, 10.05));
    let named = ["--figure", "tpot.mean"];
    for (other, gate, code) in [
        ("equal.json", "--gate", 0),
        ("slower.json", "--gate", 1),
        ("slower.json", "--gate=5%", 1),
        ("slower.json", "--gate=20", 0),
    ] {
        let run = folder.benchwright(&[&["compare", "base.json", other, gate][..], &named].concat());
        { run }.assert().code(code).stdout(predicate::str::contains("TPOT mean, ms"));
    }
    // Without `--gate`, a comparison always succeeds.
    let differs = predicate::str::contains("worse").and(predicate::str::contains("+10.0 %"));
    folder.benchwright(&["compare", "base.json", "slower.json"]).assert().success().stdout(differs);

    write(&folder, "sent.json", &report, |it| {
        tpot(it, 10.0);
        it["stages"][0]["labels"]["clock"] = "sent".into();
    });
    let gate = folder.benchwright(&["compare", "base.json", "sent.json", "--gate"]).assert().code(2);
    gate.stdout(predicate::str::contains("not comparable: clock: A scheduled, B sent."));
}

#[test]
fn a_comparison_is_written_as_a_page_as_markdown_and_as_json() {
    let (folder, report) = folder();
    write(&folder, "slower.json", &report, |it| tpot(it, 1e4));
    let files = ["--markdown", "comment.md", "--json", "diff.json", "--html", "diff.html"];
    folder.benchwright(&[&["compare", "results/latest", "slower.json"][..], &files].concat()).assert().success();
    let page = fs::read_to_string(folder.path("comment.md")).unwrap();
    assert!(page.contains("### B against A") && page.contains("| TPOT p50, ms |") && page.len() < 65_536, "{page}");
    let html = fs::read_to_string(folder.path("diff.html")).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.contains("B against A") && html.contains("TPOT p50, ms"));
    let json: Value = serde_json::from_str(&fs::read_to_string(folder.path("diff.json")).unwrap()).unwrap();
    assert_eq!((&json["runs"][0]["path"], &json["runs"][1]["name"]), (&"results/latest".into(), &"B".into()));
    assert!(json["pairs"][0]["stages"][0]["figures"].as_array().is_some_and(|it| it.len() > 20), "{json}");

    // slower.json is a file, so nothing can be written below it.
    let unwritable = ["compare", "results/latest", "slower.json", "--json", "slower.json/diff.json"];
    let problem = predicate::str::contains("cannot write slower.json/diff.json");
    folder.benchwright(&unwritable).assert().code(12).stderr(problem);
    folder.benchwright(&[&unwritable[..], &["--gate"]].concat()).assert().code(3);
}

#[test]
fn two_runs_of_one_setting_are_compared_as_they_are() {
    let (folder, _) = folder();
    let first = fs::canonicalize(folder.path("results/latest")).unwrap();
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let compare = folder.benchwright(&["compare", first.to_str().unwrap(), "results/latest"]).assert().success();
    // Each run draws its own seed. This is the only difference.
    let alike = predicate::str::contains("not comparable").not().and(predicate::str::contains("stage r60"));
    compare.stdout(alike);
}

#[test]
fn every_problem_is_said_at_once() {
    let (folder, report) = folder();
    write(&folder, "v9.json", &report, |it| it["format"] = "benchwright.dev/report/v9".into());
    folder.write("text", "no report");
    for (name, file) in [("guidellm", "benchmarks.json"), ("empty", "notes.txt"), ("killed.partial", "PARTIAL.md")] {
        fs::create_dir(folder.path(name)).unwrap();
        folder.write(&format!("{name}/{file}"), "x");
    }
    let all = [
        "compare",
        "results/latest",
        "missing",
        "killed",
        "killed.partial",
        "guidellm",
        "empty",
        "results",
        "v9.json",
        "text",
        "results/latest/report.json",
    ];
    let refused = folder.benchwright(&all).assert().code(10).stdout("");
    let errors = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    for problem in [
        "missing: No such file or directory (os error 2); give a results folder",
        "killed.partial: is the folder of a run that has not ended",
        "guidellm: has no report.json, and contains results of GuideLLM",
        "empty: has no report.json; give the results folder of a finished run",
        "results: contains results folders, but no report.json of its own; give one of them, such as results/latest",
        "v9.json: format is benchwright.dev/report/v9, but this program reads",
        "text: not a report.json",
        "results/latest/report.json: is the same run as results/latest; give another run",
    ] {
        assert!(errors.contains(problem), "{problem} is missing in {errors}");
    }
    assert_eq!(errors.lines().count(), 9, "{errors}");
    folder.benchwright(&[&all[..], &["--gate"]].concat()).assert().code(3);
}

#[test]
fn a_slip_in_the_arguments_is_told() {
    let (folder, report) = folder();
    write(&folder, "other.json", &report, |_| {});
    for (arguments, words) in [
        (&["results/latest"][..], "the number of runs is 1; give 2 to 26"),
        (&["results/latest", "other.json", "--gate=much"], "write a percentage of 0 or more"),
        (&["results/latest", "other.json", "--gate=-1"], "write a percentage of 0 or more"),
        (&["results/latest", "other.json", "--gate", "--figure", "tft.p90"], "did you mean ttft.p90?"),
        (&["results/latest", "other.json", "--figure", "ttft.p90"], "--gate"),
    ] {
        let all = [&["compare"], arguments].concat();
        folder.benchwright(&all).assert().code(10).stderr(predicate::str::contains(words));
    }
    let blank = folder.benchwright(&["compare", "results/latest", "other.json", "--gate", "5%"]).assert().code(3);
    blank.stderr(predicate::str::contains("for the gate write --gate=5%"));
}

#[test]
fn a_run_without_a_success_decides_nothing() {
    let (folder, report) = folder();
    write(&folder, "failed.json", &report, |it| {
        it["outcome"] = "Invalid".into();
        for figures in ["figures", "uncertainty"] {
            let of = it["stages"][0][figures].as_object_mut().unwrap();
            of.retain(|name, _| !["ttftMs", "tpotMs", "itlMs", "ntpotMs", "latencyMs"].contains(&name.as_str()));
        }
    });
    let compare = folder.benchwright(&["compare", "results/latest", "failed.json", "--gate"]).assert().code(2);
    let said = predicate::str::contains("not comparable: outcome: A Passed, B Invalid")
        .and(predicate::str::contains("gate: inconclusive"));
    compare.stdout(said);
}
