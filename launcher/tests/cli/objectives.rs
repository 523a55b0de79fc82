//! Objectives: from a BenchmarkRun file to the exit code and the files for a pipeline.

use std::fs;

use predicates::prelude::*;

use crate::common::{Folder, profile, simulated};

/// An objective for the end-to-end latency, in one stage or in all stages.
fn e2e(stage: &str, max: &str) -> String {
    format!("{{name: e2e, metric: latency, stat: p50, stage: '{stage}', max: {max}}}")
}

/// Writes a run of one second at a rate, with one objective.
fn write(folder: &Folder, rate: u32, enforcement: &str, objective: &str) {
    let slo = format!("  slo: {{enforcement: {enforcement}, objectives: [{objective}]}}\n");
    folder.write("run.yaml", &(simulated(&profile(rate, 1)) + &slo));
}

#[test]
fn the_gate_tells_what_became_of_the_objectives() {
    let folder = Folder::new();
    for (enforcement, max, code, outcome, met) in [
        ("Fail", "60s", 0, "Passed", "True"),
        ("Fail", "1ns", 1, "SLOViolated", "False"),
        ("Report", "1ns", 0, "Passed", "False"),
    ] {
        write(&folder, 20, enforcement, &e2e("*", max));
        let run = folder.benchwright(&["run", "-f", "run.yaml", "--gate"]).assert().code(code);
        run.stdout(predicate::str::contains("e2e: latency p50 in every stage"));
        let report = folder.report();
        assert_eq!((&report["outcome"], &report["objectives"][0]["met"]), (&outcome.into(), &met.into()));
        let junit = fs::read_to_string(folder.path("results/latest/junit.xml")).unwrap();
        assert_eq!(junit.contains("<failure"), code == 1, "{junit}");
    }
    // Without `--gate`, a measurement always succeeds.
    write(&folder, 20, "Fail", &e2e("r20", "1ns"));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
}

#[test]
fn a_finished_run_is_judged_again_by_other_objectives() {
    let folder = Folder::new();
    write(&folder, 20, "Fail", &e2e("*", "60s"));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let original = fs::read_to_string(folder.path("results/latest/report.json")).unwrap();
    let analyse = |arguments: &[&str]| {
        folder.benchwright(&[&["analyse", "results/latest", "-f", "run.yaml"], arguments].concat()).assert()
    };
    // With the run's own objectives, the result does not change.
    analyse(&["--output", "again", "--gate"]).success();
    assert_eq!(fs::read_to_string(folder.path("again/report.json")).unwrap(), original);
    write(&folder, 20, "Fail", &e2e("*", "1ns"));
    analyse(&["--gate"]).code(1).stdout(predicate::str::contains("SLOViolated"));
    let name = folder.path("results/latest").canonicalize().unwrap();
    let judged = format!("{}-analysed", name.display());
    for (file, part) in [("report.json", "SLOViolated"), ("report.md", "SLOViolated"), ("junit.xml", "<failure")] {
        let text = fs::read_to_string(format!("{judged}/{file}")).unwrap();
        assert!(text.contains(part), "{file}: {text}");
    }
    for file in ["report.html", "comment.md", "stages.csv"] {
        assert!(fs::exists(format!("{judged}/{file}")).unwrap(), "{file}");
    }
    for file in ["benchmarkrun.yaml", "profile.yaml", "run.yaml"] {
        let of_run = fs::read_to_string(name.join(file)).unwrap();
        assert_eq!(fs::read_to_string(format!("{judged}/{file}")).unwrap(), of_run, "{file}");
    }
    assert_eq!(fs::read_to_string(folder.path("results/latest/report.json")).unwrap(), original);
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    analyse(&[]).failure().stderr(predicate::str::contains("has no spec.slo"));
}

#[test]
fn an_earlier_run_is_a_second_limit() {
    let folder = Folder::new();
    write(&folder, 20, "Fail", &e2e("r20", "60s"));
    folder.benchwright(&["run", "-f", "run.yaml", "--gate"]).assert().success();
    let earlier = folder.path("results/latest").canonicalize().unwrap();
    let earlier = earlier.to_str().unwrap();
    let gate = |code: i32, baseline: &str| {
        folder.benchwright(&["run", "-f", "run.yaml", "--gate", "--baseline", baseline]).assert().code(code)
    };
    // On a busy test machine the end-to-end latency can have any value, so the baseline is changed instead of the run.
    let slower = fs::read_to_string(format!("{earlier}/report.json")).unwrap();
    let mut slower: serde_json::Value = serde_json::from_str(&slower).unwrap();
    slower["stages"][0]["figures"]["latencyMs"]["p50"] = 1e6.into();
    folder.write("slower.json", &slower.to_string());
    gate(0, "slower.json");
    let report = folder.report();
    assert_eq!(
        (&report["objectives"][0]["baseline"], &report["objectives"][0]["baselineLimit"]),
        (&1e6.into(), &1.05e6.into())
    );
    assert!(report["resolvedRun"]["slo"]["baseline"]["report"].as_str().unwrap().ends_with("slower.json"));
    slower["stages"][0]["figures"]["latencyMs"]["p50"] = 1e-6.into();
    folder.write("faster.json", &slower.to_string());
    gate(1, "faster.json").stdout(predicate::str::contains("baseline: faster.json; "));

    // The stage of this load does not exist in the baseline.
    write(&folder, 10, "Fail", &e2e("r10", "60s"));
    gate(2, earlier).stdout(predicate::str::contains("the baseline has no p50 of latency in a stage r10"));
}

#[test]
fn what_cannot_be_compared_is_told_before_the_load() {
    let folder = Folder::new();
    let refused = |arguments: &[&str], words: &str| {
        let all = [&["run", "-f", "run.yaml", "--no-results"], arguments].concat();
        folder.benchwright(&all).assert().code(10).stderr(predicate::str::contains(words));
    };
    write(&folder, 20, "Fail", &e2e("r50", "1s"));
    refused(
        &[],
        "run.yaml cannot be run:\n  spec.slo.objectives[0].stage, line 8 column 88: is \"r50\", and the profile has no stage of this name; did you mean r20?",
    );
    write(&folder, 20, "Fail", &e2e("r20", "fast"));
    refused(&[], "spec.slo.objectives[0].max");
    write(&folder, 20, "Fail", &e2e("r20", "1s"));
    refused(&["--baseline", "nowhere"], "cannot read the baseline nowhere");
    folder.write("text", "no report");
    refused(&["--baseline", "text"], "give the report.json of an earlier run");
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    refused(&["--baseline", "text"], "the run has none");
    let baseline = "  slo: {objectives: [{name: a, metric: errorRatio, max: 1}], baseline: {runRef: before}}\n";
    folder.write("run.yaml", &(simulated(&profile(20, 1)) + baseline));
    refused(&[], "outside a cluster give --baseline PATH");
    // The profile can still be rendered.
    folder.benchwright(&["render", "-f", "run.yaml"]).assert().success();
}
