//! Running the same load several times, with `spec.repeat` and with `--repeat`.

use std::{collections::BTreeSet, fs, path::PathBuf};

use predicates::prelude::*;
use serde_json::Value;

use crate::common::{Folder, at, profile, simulated};

/// Returns the only series in the results folder.
fn series(folder: &Folder) -> PathBuf {
    let entries = fs::read_dir(folder.path("results")).unwrap().map(|it| it.unwrap());
    let folders: Vec<PathBuf> = entries.filter(|it| it.file_type().unwrap().is_dir()).map(|it| it.path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders[0].clone()
}

fn read(path: PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn names(folder: &PathBuf) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn each_run_has_a_folder_and_prompts_of_its_own_and_the_spread_stands_beside_them() {
    let of_file = simulated(&profile(40, 1)) + "  repeat: 2\n";
    let of_flag = simulated(&profile(40, 1)) + "  repeat: 30\n";
    let with_seed = ["--repeat", "2", "--seed", "7"];
    let series_of = [(&of_file, &[][..], 2, 2), (&of_flag, &["--repeat", "3"], 3, 3), (&of_file, &with_seed, 2, 1)];
    for (text, flag, runs, drawn) in series_of {
        let folder = Folder::new();
        folder.write("run.yaml", text);
        let run = folder.benchwright(&[&["run", "-f", "run.yaml", "--gate"][..], flag].concat()).assert().success();
        run.stdout(predicate::str::contains("repeats: results/").and(predicate::str::contains("within")));
        let series = series(&folder);
        let expected: Vec<String> =
            (1..=runs).map(|it| format!("r{it}")).chain(["repeats.json", "repeats.md"].map(str::to_owned)).collect();
        let expected: Vec<String> = std::iter::once("junit.xml".to_owned()).chain(expected).collect();
        assert_eq!(names(&series), expected);
        let (mut salts, mut seeds) = (BTreeSet::new(), BTreeSet::new());
        for number in 1..=runs {
            let report = read(series.join(format!("r{number}/report.json")));
            assert_eq!((&report["outcome"], &report["run"]["repeatNumber"]), (&"Passed".into(), &number.into()));
            assert_eq!(report["resolvedRun"]["repeat"], runs);
            salts.insert(report["seeds"]["promptSalt"].to_string());
            seeds.insert(report["seeds"]["run"].to_string());
            assert!(series.join(format!("r{number}/junit.xml")).exists());
            let again = fs::read_to_string(series.join(format!("r{number}/benchmarkrun.yaml"))).unwrap();
            assert!(!again.contains("repeat:") && again.contains("promptSalt:"), "{again}");
        }
        // Each run uses the seed that the user chose.
        assert_eq!((salts.len(), seeds.len()), (runs as usize, drawn), "{salts:?} {seeds:?}");
        let document = read(series.join("repeats.json"));
        assert_eq!((&document["repeat"], &document["summary"]["meanOfRuns"]), (&runs.into(), &runs.into()));
        let figures = document["stages"][0]["figures"].as_array().unwrap();
        let ttft = figures.iter().find(|it| it["name"] == "ttftMs.mean").unwrap();
        assert_eq!(ttft["values"].as_array().unwrap().len(), runs as usize);
        assert!(ttft["stddevBetweenRuns"].as_f64().is_some_and(|it| it >= 0.0), "{ttft}");
        assert!(ttft["independentStandardErrorWithinRuns"].as_f64().is_some_and(|it| it > 0.0), "{ttft}");
        let link = PathBuf::from(series.file_name().unwrap());
        assert_eq!(fs::read_link(folder.path("results/latest")).unwrap(), link);
        let junit = fs::read_to_string(series.join("junit.xml")).unwrap();
        assert_eq!(junit.matches("<testsuite ").count(), runs as usize, "{junit}");
        let shown = predicate::str::contains(format!("# chat, {runs} runs: Passed"));
        folder.benchwright(&["show", series.to_str().unwrap()]).assert().success().stdout(shown);
        for outside in ["/etc/passwd", "../index.md"] {
            let refused = folder.benchwright(&["show", series.to_str().unwrap(), "--file", outside]).assert().failure();
            refused.stderr(predicate::str::contains("give the name of a file in the folder"));
        }
        let index = fs::read_to_string(folder.path("results/index.md")).unwrap();
        assert_eq!(index.matches("/report.md)").count(), runs as usize, "{index}");
    }
}

#[test]
fn a_run_of_a_series_is_repeated_by_its_own_file() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    folder.benchwright(&["run", "-f", "run.yaml", "--repeat", "2"]).assert().success();
    let second = series(&folder).join("r2");
    let first = read(second.join("report.json"));
    let again = second.join("benchmarkrun.yaml");
    folder.benchwright(&["run", "-f", again.to_str().unwrap()]).assert().success();
    let report = folder.report();
    assert_eq!((&report["seeds"], &report["run"]["name"]), (&first["seeds"], &"chat".into()));
    assert!(report["run"].get("repeatNumber").is_none(), "{}", report["run"]);
}

#[test]
fn what_cannot_be_repeated_is_refused_before_anything_is_run() {
    let run = simulated(&profile(50, 1));
    let salted = run.replace("profile: {", "profile: {promptSalt: x, ");
    let loadgen = format!("{run}  harness: loadgen\n").replace("profile: {inline", "profile: {variables: {}, inline");
    for (text, flag, field, error) in [
        (&salted, "2", "spec.profile.promptSalt", "is \"x\"; take it out"),
        (&loadgen, "2", "spec.repeat", "is 2, and LoadGen tests cannot be repeated"),
        (&run, "31", "--repeat", "1..=30"),
        (&run, "0", "--repeat", "1..=30"),
        (&format!("{run}  repeat: 31\n"), "", "spec.repeat", "is 31"),
    ] {
        let folder = Folder::new();
        folder.write("run.yaml", text);
        let flag = if flag.is_empty() { vec![] } else { vec!["--repeat", flag] };
        let expected = predicate::str::contains(field).and(predicate::str::contains(error));
        folder.benchwright(&[vec!["run", "-f", "run.yaml"], flag].concat()).assert().code(10).stderr(expected);
        assert!(!folder.path("results").exists(), "{error}");
    }
    let folder = Folder::new();
    folder.write("run.yaml", &format!("{loadgen}  repeat: 2\n"));
    let expected = predicate::str::contains("LoadGen tests cannot be repeated");
    folder.benchwright(&["plan", "-f", "run.yaml"]).assert().failure().stderr(expected);
}

#[test]
fn a_missed_objective_of_one_run_fails_the_gate_and_every_run_is_measured() {
    let folder = Folder::new();
    let slo = "  slo: {objectives: [{name: e2e, metric: latency, stat: p50, max: 1ns}]}\n";
    folder.write("run.yaml", &(simulated(&profile(20, 1)) + slo + "  repeat: 2\n"));
    let message = folder.path("message");
    let arguments = ["run", "-f", "run.yaml", "--gate", "--termination-log", message.to_str().unwrap()];
    folder
        .benchwright(&arguments)
        .assert()
        .code(1)
        .stdout(predicate::str::contains("SLOViolated: 2 of 2 runs measured"));
    let series = series(&folder);
    let document = read(series.join("repeats.json"));
    assert_eq!((&document["outcome"], &document["objectives"][0]["met"]), (&"SLOViolated".into(), &"False".into()));
    let envelope = crds::Envelope::parse(&fs::read_to_string(&message).unwrap()).unwrap();
    assert_eq!(envelope.core.summary.unwrap().mean_of_runs, Some(2));
    assert!(envelope.core.message.starts_with("run r1: e2e: "), "{}", envelope.core.message);
    assert_eq!(envelope.core.folder.as_deref(), series.file_name().and_then(|it| it.to_str()));
    let files: Vec<&str> = envelope.core.artifacts.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(files, ["repeats.json", "repeats.md", "junit.xml", "r1/report.json", "r2/report.json"]);
    assert!(envelope.objectives[0].run.starts_with('r'), "{:?}", envelope.objectives);
}

#[test]
fn a_series_without_a_folder_shows_its_spread() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    let run = folder.benchwright(&["run", "-f", "run.yaml", "--repeat", "2", "--no-results"]).assert().success();
    let expected = predicate::str::contains("Passed: 2 of 2 runs measured").and(predicate::str::contains("TTFT p50"));
    run.stdout(expected.and(predicate::str::contains("repeats: ").not()));
    assert!(!folder.path("results").exists());
}

#[test]
fn a_target_that_is_not_there_ends_the_series_with_nothing() {
    let folder = Folder::new();
    folder.write("run.yaml", &at("http://127.0.0.1:9", 1, &profile(20, 1)));
    let message = folder.path("message");
    let arguments = ["run", "-f", "run.yaml", "--repeat", "3", "--termination-log", message.to_str().unwrap()];
    let expected =
        predicate::str::contains("benchwright: r1 ended the series: its remaining runs, of 3, were not made\n");
    folder.benchwright(&arguments).assert().code(11).stderr(expected);
    assert_eq!(names(&folder.path("results")), Vec::<String>::new());
    let envelope = crds::Envelope::parse(&fs::read_to_string(&message).unwrap()).unwrap();
    let message = "run r1 of 3, which ended the series: ";
    assert!(envelope.core.summary.is_none() && envelope.core.message.starts_with(message), "{envelope:?}");
}

#[test]
fn a_signal_ends_the_series_and_keeps_the_runs_before_it() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(20, 2)));
    let mut running = folder.start(&["run", "-f", "run.yaml", "--repeat", "3"]);
    running.wait_for("run=\"r2\"");
    assert_eq!(running.terminate(), Some(20), "{}", running.seen);
    let series = series(&folder);
    let document = read(series.join("repeats.json"));
    assert_eq!((&document["outcome"], &document["partial"]), (&"Cancelled".into(), &true.into()));
    // The second run may have been stopped before or during its load. In both cases, the mean is that of the first run.
    let message = document["reasons"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("run r2 of 3, which ended the series: "), "{message}");
    assert_eq!((&document["runs"][0]["name"], &document["runs"][0]["counted"]), (&"r1".into(), &true.into()));
    assert_eq!(document["summary"]["meanOfRuns"], 1);
    assert_eq!(read(series.join("r1/report.json"))["outcome"], "Passed");
}
