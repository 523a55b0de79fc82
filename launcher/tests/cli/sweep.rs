//! `benchwright sweep`: every cell runs as often as planned, also if the sweep is interrupted at any time.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use predicates::prelude::*;
use serde_json::{Value, json};

use crate::common::{Folder, LATE, profile};

/// A sweep of 2 x 2 cells with short runs. `more` replaces fields of its spec.
fn sweep(more: Value) -> String {
    let validity: Value = serde_saphyr::from_str(LATE).unwrap();
    let mut spec = json!({
        "runTemplate": {"spec": {
            "target": {"simulator": {"preset": "Tiny"}},
            "profile": {"inline": profile(20, 1)},
            "validity": validity["validity"],
        }},
        "factors": [
            {"name": "server", "levels": [{"name": "a"}, {"name": "b", "set": {"target.simulator.preset": "Instant"}}]},
            {"name": "rate", "field": "profile.overrides.load.stages.0.rate", "values": [20, 40]},
        ],
        "repeats": 2,
    });
    for (key, value) in more.as_object().unwrap() {
        spec[key] = value.clone();
    }
    let kind = "BenchmarkSweep";
    json!({"apiVersion": "benchwright.dev/v1alpha1", "kind": kind, "metadata": {"name": "fast"}, "spec": spec})
        .to_string()
}

/// The folder of the only sweep in the results folder.
fn folder_of(folder: &Folder) -> PathBuf {
    let entries = fs::read_dir(folder.path("results")).unwrap().map(|it| it.unwrap());
    let found: Vec<PathBuf> = entries.filter(|it| it.file_type().unwrap().is_dir()).map(|it| it.path()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

/// Every results folder of the sweep's runs, relative to its folder, with the time at which the run began.
fn runs(sweep: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for cell in fs::read_dir(sweep).unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_dir() && !it.is_symlink()) {
        for run in fs::read_dir(&cell).unwrap().map(|it| it.unwrap().path()) {
            let Ok(text) = fs::read_to_string(run.join("report.json")) else { continue };
            let report: Value = serde_json::from_str(&text).unwrap();
            let name = run.strip_prefix(sweep).unwrap().display().to_string();
            found.insert(name, report["started"].as_str().unwrap().to_owned());
        }
    }
    found
}

fn document(sweep: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(sweep.join("sweep.json")).unwrap()).unwrap()
}

/// Checks that each of the four cells has two runs, and each run one attempt.
fn assert_complete(sweep: &Path) {
    let expected: Vec<String> = ["server=a,rate=20", "server=a,rate=40", "server=b,rate=20", "server=b,rate=40"]
        .into_iter()
        .flat_map(|cell| ["r1", "r2"].map(|run| format!("{cell}/{run}")))
        .collect();
    assert_eq!(runs(sweep).into_keys().collect::<Vec<_>>(), expected);
    let document = document(sweep);
    assert_eq!(document["ended"], "complete");
    for cell in document["cells"].as_array().unwrap() {
        let outcomes: Vec<&Value> = cell["runs"].as_array().unwrap().iter().map(|it| &it["outcome"]).collect();
        assert_eq!(outcomes, ["Passed", "Passed"], "{cell}");
    }
}

#[test]
fn every_cell_is_run_and_compared_with_its_baseline() {
    let folder = Folder::new();
    folder.write("sweep.yaml", &sweep(json!({})));
    let plan = "fast: 2 x 2 (server x rate) make 4 cells; 2 repeats: 8 runs, at least 8 s";
    folder
        .benchwright(&["sweep", "-f", "sweep.yaml", "--plan"])
        .assert()
        .success()
        .stdout(predicate::str::contains(plan));
    let valid = predicate::str::contains("sweep.yaml: fast: can be run");
    folder.benchwright(&["validate", "-f", "sweep.yaml"]).assert().success().stdout(valid);
    assert!(!folder.path("results").exists());
    let done = folder.benchwright(&["sweep", "-f", "sweep.yaml"]).assert().success();
    done.stdout(predicate::str::contains("server=b against server=a: ").and(predicate::str::contains("sweep.html")));
    let sweep = folder_of(&folder);
    assert_complete(&sweep);
    let document = document(&sweep);
    let compared: Vec<[&Value; 2]> =
        document["comparisons"].as_array().unwrap().iter().map(|it| [&it["cell"], &it["baseline"]]).collect();
    assert_eq!(compared, [["server=b,rate=20", "server=a,rate=20"], ["server=b,rate=40", "server=a,rate=40"]]);
    // Runs of one repeat have the same seed, so that they send requests of the same lengths at the same times.
    let seed = |run: &str| {
        let report = fs::read_to_string(sweep.join(run).join("report.json")).unwrap();
        serde_json::from_str::<Value>(&report).unwrap()["seeds"]["run"].clone()
    };
    assert_eq!(seed("server=a,rate=20/r1"), seed("server=b,rate=20/r1"));
    assert_ne!(seed("server=a,rate=20/r1"), seed("server=a,rate=20/r2"));
    assert_eq!(fs::read_link(folder.path("results/latest")).unwrap(), Path::new(sweep.file_name().unwrap()));
    for name in ["sweep.md", "sweep.html", "sweep.yaml"] {
        assert!(sweep.join(name).exists(), "{name}");
    }
    let shown = predicate::str::contains("# Sweep fast");
    folder.benchwright(&["show", "results/latest"]).assert().success().stdout(shown);
    // A sweep that is complete has nothing to continue.
    let before = runs(&sweep);
    folder.benchwright(&["sweep", "--resume", "results/latest"]).assert().success();
    assert_eq!(runs(&sweep), before);
}

#[test]
fn a_killed_sweep_continues_and_repeats_no_finished_run() {
    for finished in [1, 5] {
        let folder = Folder::new();
        folder.write("sweep.yaml", &sweep(json!({})));
        let mut running = folder.start(&["sweep", "-f", "sweep.yaml"]);
        running.wait_for(&format!("run {} of 8 begins", finished + 1));
        running.kill();
        let sweep = folder_of(&folder);
        let before = runs(&sweep);
        // The run in progress outlives the sweep by a second at most. Until then, the sweep refuses to send another load beside it.
        loop {
            let again = folder.benchwright(&["sweep", "--resume", sweep.to_str().unwrap()]).output().unwrap();
            let message = String::from_utf8(again.stderr).unwrap();
            match again.status.code() {
                Some(0) => break,
                Some(10) if message.contains("has not ended") => {}
                other => panic!("{other:?}: {message}"),
            }
        }
        assert_complete(&sweep);
        let after = runs(&sweep);
        assert!(before.len() >= finished, "{before:?}");
        assert!(before.iter().all(|(name, started)| after[name] == *started), "{before:?}\n{after:?}");
    }
}

#[test]
fn a_signal_ends_the_sweep_and_its_cells_may_not_change() {
    let folder = Folder::new();
    folder.write("sweep.yaml", &sweep(json!({})));
    let mut running = folder.start(&["sweep", "-f", "sweep.yaml"]);
    running.wait_for("run 2 of 8 begins");
    assert_eq!(running.terminate(), Some(20));
    let sweep = folder_of(&folder);
    let file = sweep.join("sweep.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let resume = || folder.benchwright(&["sweep", "--resume", sweep.to_str().unwrap()]);
    fs::write(&file, text.replace("[20,40]", "[20,41]")).unwrap();
    resume().assert().code(10).stderr(predicate::str::contains("has other cells, repeats or another order"));
    // A limit may change.
    fs::write(&file, text.replace("\"repeats\":2", "\"repeats\":2,\"attempts\":2")).unwrap();
    resume().assert().success();
    assert_eq!(document(&sweep)["ended"], "complete");
    // The run that the signal interrupted was cancelled or had just begun; it has been run again.
    let cells = document(&sweep);
    let outcomes = cells["cells"].as_array().unwrap().iter().flat_map(|it| it["runs"].as_array().unwrap());
    assert_eq!(outcomes.filter(|it| it["outcome"] == "Passed").count(), 8);
}

#[test]
fn a_sweep_that_cannot_be_run_is_refused_before_the_first_run() {
    let huge: Vec<u32> = (0..64).collect();
    let factor = |name: &str| json!({"name": name, "field": format!("profile.variables.{name}"), "values": huge});
    let unknown_field = json!([{"name": "x", "field": "profile.nmae", "values": ["a"]}]);
    let wrong_value = json!([{"name": "rate", "field": "profile.overrides.load.stages.0.rate", "values": [20, -3]}]);
    for (more, expected) in [
        (json!({"factors": [factor("a"), factor("b"), factor("c")]}), "have 262144 combinations"),
        (json!({"factors": [factor("a"), factor("b")]}), "have 4096 cells; at most 256 can run"),
        (json!({"exclude": [{"server": "c"}]}), "spec.exclude[0].server: is c, which is no level of server"),
        (json!({"repeats": 11}), "spec.repeats"),
        (json!({"factors": unknown_field}), "cell x=a: spec.profile.nmae: is no field of spec.profile"),
        (json!({"factors": wrong_value}), "cell rate=-3: "),
    ] {
        let folder = Folder::new();
        folder.write("sweep.yaml", &sweep(more));
        for command in ["sweep", "validate"] {
            let refused = folder.benchwright(&[command, "-f", "sweep.yaml"]).assert().code(10);
            refused.stderr(predicate::str::contains(expected));
        }
        assert!(!folder.path("results").exists(), "{expected}");
    }
    let folder = Folder::new();
    folder.write("run.yaml", &crate::common::simulated(&profile(20, 1)));
    let wrong_kind = predicate::str::contains("needs a benchwright.dev/v1alpha1 BenchmarkSweep");
    folder.benchwright(&["sweep", "-f", "run.yaml"]).assert().code(10).stderr(wrong_kind);
    folder
        .benchwright(&["sweep", "--resume", "."])
        .assert()
        .code(10)
        .stderr(predicate::str::contains("is not the folder of a sweep"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_restarts_only_when_its_settings_change() {
    let folder = Folder::new();
    let target = json!({"server": {"engine": "Simulator", "model": "m", "args": ["--preset", "tiny"]}});
    let validity: Value = serde_saphyr::from_str(LATE).unwrap();
    let template =
        json!({"spec": {"target": target, "profile": {"inline": profile(20, 1)}, "validity": validity["validity"]}});
    let factors = json!([{"name": "preset", "field": "target.server.args[1]", "values": ["tiny", "instant"]}]);
    folder.write("sweep.yaml", &sweep(json!({"runTemplate": template, "factors": factors})));
    let state = folder.path("state");
    let mut command = folder.benchwright(&["sweep", "-f", "sweep.yaml"]);
    command.env("BENCHWRIGHT_STATE_DIR", &state).assert().success();
    let sweep = folder_of(&folder);
    let reused = |run: &str| {
        let report = fs::read_to_string(sweep.join(run).join("report.json")).unwrap();
        serde_json::from_str::<Value>(&report).unwrap()["managedServer"]["reused"].clone()
    };
    // The order is tiny, instant, instant, tiny.
    let found = ["preset=tiny/r1", "preset=instant/r1", "preset=instant/r2", "preset=tiny/r2"].map(reused);
    assert_eq!(found.map(|it| it == true), [false, false, true, false]);
    let mut status = folder.benchwright(&["server", "status"]);
    let status = status.env("BENCHWRIGHT_STATE_DIR", &state).output().unwrap();
    assert_eq!(String::from_utf8(status.stdout).unwrap(), "no server runs\n");
}
