//! Profiling of a simulated server: embedded in the launcher, and as a separate process.

use std::fs;

use predicates::prelude::*;

use crate::common::{Folder, Sim, at, simulated};

/// Two stages, r20 for two seconds and r30 for one.
const PROFILE: &str = "{load: {type: constant, stages: [{rate: 20, duration: 2}, {rate: 30, duration: 1}]}, \
     api: {type: completion, streaming: true}, \
     data: {type: random, input_distribution: {min: 10, max: 30, mean: 20, std_dev: 5}, \
            output_distribution: {min: 5, max: 15, mean: 10, std_dev: 2}}}";

fn profiled(spec: &str, profiling: &str) -> String {
    format!("{spec}  profiling: {profiling}\n")
}

fn traces(folder: &std::path::Path) -> Vec<serde_json::Value> {
    let files = fs::read_dir(folder).map(|it| it.map(|it| it.unwrap().path()).collect::<Vec<_>>()).unwrap_or_default();
    files.iter().map(|it| serde_json::from_slice(&fs::read(it).unwrap()).unwrap()).collect()
}

#[test]
fn the_trace_of_a_stage_lies_in_the_results_folder() {
    let folder = Folder::new();
    let slo = "  slo: {enforcement: Report, objectives: [{name: all, metric: latency, stat: p50, max: 1h}, \
               {name: each, metric: latency, stat: p50, stage: '*', max: 1h}, \
               {name: profiled, metric: latency, stat: p50, stage: r20, max: 1h}]}\n";
    let spec = simulated(PROFILE) + slo;
    folder.write("run.yaml", &profiled(&spec, "{kind: Torch, stage: r20, start: 200ms, duration: 300ms}"));
    let run = folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    run.stdout(predicate::str::contains("(profiled)").and(predicate::str::contains("slows a server down")));

    let report = folder.report();
    let found = &report["profiling"];
    assert_eq!((&found["kind"], &found["stage"]), (&"Torch".into(), &"r20".into()));
    let [from, to] = ["fromMs", "toMs"].map(|it| found["window"][it].as_f64().unwrap());
    assert!(from >= 200.0 && to >= from + 300.0, "{found}");
    assert_eq!(found["stages"], serde_json::json!(["r20"]));
    assert_eq!(report["stages"][0]["profiled"], true);
    assert_eq!(report["stages"][1]["profiled"], serde_json::Value::Null);
    // The second stage began only after the trace had been written.
    let stopped = to + found["stopTookMs"].as_f64().unwrap();
    assert!(report["stages"][1]["figures"]["firstDueMs"].as_f64().unwrap() >= stopped, "{found}");

    let latest = folder.path("results/latest");
    let file = found["files"][0]["name"].as_str().unwrap();
    assert_eq!(fs::metadata(latest.join(file)).unwrap().len(), found["files"][0]["bytes"].as_u64().unwrap());
    let traces = traces(&latest.join("profiling"));
    assert_eq!(traces.len(), 1);
    assert!(traces[0]["traceEvents"][0]["args"]["requests"].as_u64().unwrap() > 0, "{traces:?}");

    let met: Vec<&str> =
        report["objectives"].as_array().unwrap().iter().map(|it| it["met"].as_str().unwrap()).collect();
    assert_eq!(met, ["Inconclusive", "True", "Inconclusive"]);
    let text = fs::read_to_string(latest.join("report.md")).unwrap();
    assert!(text.contains("## Profiling") && text.contains("| r20 (profiled) |") && text.contains(file), "{text}");
    let page = fs::read_to_string(latest.join("report.html")).unwrap();
    assert!(
        page.contains("A trace was recorded.") && page.contains(">profiled<"),
        "the page has neither table nor shade"
    );
    assert!(fs::read_to_string(latest.join("benchmarkrun.yaml")).unwrap().contains("profiling:"));

    // If two runs with this profiling are compared, the profiled stage is omitted.
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let mut runs: Vec<String> = fs::read_dir(folder.path("results"))
        .unwrap()
        .map(|it| it.unwrap().path())
        .filter(|it| it.is_dir() && !it.is_symlink())
        .map(|it| it.display().to_string())
        .collect();
    runs.sort();
    let compared = folder.benchwright(&["compare", &runs[0], &runs[1]]).output().unwrap();
    let text = String::from_utf8(compared.stdout).unwrap();
    for run in ["A", "B"] {
        let line = format!("stage r20 of {run} is not compared: the server was profiled in it");
        assert!(text.contains(&line), "{text}");
    }
    assert!(text.contains("stage r30") && !text.contains("stage r20\n"), "{text}");
}

#[test]
fn a_server_of_another_keeps_its_trace() {
    let folder = Folder::new();
    let traces_at = folder.path("traces");
    let sim = Sim::start(&["--preset", "tiny", "--profiler-dir", &traces_at.display().to_string()]);
    folder.write("run.yaml", &profiled(&at(&sim.url, 30, PROFILE), "{kind: Torch, stage: r20, duration: 300ms}"));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    assert_eq!(traces(&traces_at).len(), 1);
    let report = folder.report();
    let told = report["profiling"]["remarks"][0].as_str().unwrap();
    assert!(told.contains("was not collected") && report["profiling"]["files"].is_null(), "{told}");
    assert!(!folder.path("results/latest/profiling").exists());
}

#[test]
fn a_server_without_a_profiler_is_told_before_the_load() {
    let folder = Folder::new();
    let sim = Sim::start(&["--preset", "tiny"]);
    folder.write("run.yaml", &profiled(&at(&sim.url, 30, PROFILE), "{kind: Torch, stage: r20, duration: 1s}"));
    let run = folder.benchwright(&["run", "-f", "run.yaml"]).assert().code(10);
    let told = predicate::str::contains("the server has no /start_profile")
        .and(predicate::str::contains("--profiler-config"))
        .and(predicate::str::contains("VLLM_TORCH_PROFILER_DIR"))
        .and(predicate::str::contains("SGLANG_TORCH_PROFILER_DIR"));
    run.stderr(told);
    assert!(!folder.path("results/latest").exists());
}

#[test]
fn a_stage_that_the_profile_does_not_have_is_told_those_that_it_has() {
    let folder = Folder::new();
    for (profiling, part) in [
        ("{kind: Torch, duration: 1s}", "is missing, and the profile has several stages; write one of r20 and r30"),
        ("{kind: Torch, stage: r2, duration: 1s}", "is \"r2\", and the profile has no stage of this name"),
        (
            "{kind: Torch, stage: r20, start: 10s, duration: 1s}",
            "is 10s, and stage \"r20\" sends requests for 2s only; write a time below 2s",
        ),
        ("{kind: Nsys, stage: r20, duration: 1s}", "is Nsys, and the simulated server runs on no accelerator"),
        ("{kind: Torch, stage: r20, duration: 10}", "spec.profiling.duration"),
        ("{kind: torch, stage: r20, duration: 1s}", "did you mean Torch?"),
    ] {
        folder.write("run.yaml", &profiled(&simulated(PROFILE), profiling));
        let run = folder.benchwright(&["run", "-f", "run.yaml"]).assert().code(10);
        run.stderr(predicate::str::contains(part));
    }
    folder.write("run.yaml", &profiled(&simulated(PROFILE), "{kind: Torch, stage: r20, duration: 1s}"));
    let run = folder.benchwright(&["run", "-f", "run.yaml", "--no-results"]).assert().code(10);
    run.stderr(predicate::str::contains("no results folder is kept for the trace"));
}

#[test]
fn an_interrupted_run_stops_the_profiler() {
    let folder = Folder::new();
    let traces_at = folder.path("traces");
    let sim = Sim::start(&["--preset", "tiny", "--profiler-dir", &traces_at.display().to_string()]);
    let long = PROFILE.replace("duration: 2", "duration: 600");
    folder.write("run.yaml", &profiled(&at(&sim.url, 30, &long), "{kind: Torch, stage: r20, duration: 10m}"));
    let mut running = folder.start(&["run", "-f", "run.yaml"]);
    running.wait_for("the server is profiled");
    assert!(traces(&traces_at).is_empty());
    running.terminate();
    assert_eq!(traces(&traces_at).len(), 1, "the trace is written at the stop");
    let report = folder.report();
    assert_eq!(report["outcome"], "Cancelled");
    let told = report["profiling"]["remarks"].to_string();
    assert!(told.contains("the load ended before the window"), "{told}");
}
