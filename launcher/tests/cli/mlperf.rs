//! `benchwright mlperf`: the flags of a runner, and the results that it leaves.

use std::fs;

use predicates::prelude::*;
use serde_json::{Value, json};

use crate::common::Folder;

fn profile_of(folder: &Folder, arguments: &[&str]) -> Value {
    let done = folder.benchwright(&[&["mlperf", "--dry-run"], arguments].concat()).assert().success();
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    folder.write("printed.yaml", &text);
    folder.benchwright(&["validate", "printed.yaml"]).assert().success();
    let run: Value = serde_saphyr::from_str(&text).unwrap();
    let mut profile: Value = serde_saphyr::from_str(run["spec"]["profile"]["inline"].as_str().unwrap()).unwrap();
    profile["name"] = run["metadata"]["name"].clone();
    profile["target"] = run["spec"]["target"].clone();
    profile
}

#[test]
fn each_flag_has_its_place_in_the_run() {
    let folder = Folder::new();
    folder.write("user.conf", "*.Server.target_latency = 2000\n");
    let server = profile_of(
        &folder,
        &[
            "--category",
            "datacenter",
            "--scenario",
            "server",
            "--mode",
            "both",
            "--server-target-qps",
            "auto",
            "--total-sample-count",
            "100",
            "--high-accuracy",
            "--dataset",
            "cnn.json",
            "--tokenizer",
            "model",
            "--punkt",
            "tables",
            "--url",
            "http://server:8000",
            "--model",
            "m",
            "--user-conf",
            "user.conf",
            "--min-duration",
            "60000",
            "--max-concurrency",
            "64",
        ],
    );
    let expected = json!({
        "name": "llama3-1-8b-server-both", "target": {"url": "http://server:8000", "model": "m"},
        "benchmark": "llama3.1-8b", "scenario": "Server", "mode": "both", "api": "completions", "target_qps": "auto",
        "settings": {"min_duration": 60000}, "qsl": {"total_sample_count": 100}, "maxConcurrency": 64,
        "user_conf": "*.Server.target_latency = 2000\n", "dataset": {"file": {"path": "cnn.json"}},
        "accuracy": {"check": "llama3.1-8b-99.9", "tokenizer": "model", "punkt": "tables"},
    });
    assert_eq!(server, expected);
    let edge = profile_of(&folder, &["--category", "edge", "--scenario", "singlestream", "--simulator"]);
    assert_eq!((&edge["benchmark"], &edge["scenario"]), (&"llama3.1-8b-edge".into(), &"SingleStream".into()));
    assert_eq!((&edge["settings"]["target_latency"], &edge["target_qps"]), (&1000.0.into(), &Value::Null));
    let offline = profile_of(&folder, &["--simulator", "--offline-target-qps", "12.5", "--chat"]);
    assert_eq!(
        (&offline["target_qps"], &offline["api"], &offline["scenario"]),
        (&12.5.into(), &"chat".into(), &"Offline".into())
    );
    let none = folder.benchwright(&["mlperf"]).assert().code(10);
    none.stderr(predicate::str::contains("--url <URL>"));
    let wrong = folder.benchwright(&["mlperf", "--simulator", "--server-target-qps", "fast", "--scenario", "server"]);
    { wrong }.assert().code(10).stderr(predicate::str::contains("target_qps: is \"fast\""));
}

#[test]
fn a_run_leaves_the_runners_files_and_replaces_the_one_before() {
    let folder = Folder::new();
    let rows: Vec<Value> =
        (0..4).map(|it| json!({"tok_input": [it + 1, 7, 9], "input": "an article", "output": "a summary"})).collect();
    folder.write("cnn.json", &serde_json::to_string(&rows).unwrap());
    // A performance test of Offline sends thousands of samples.
    let flags = ["mlperf", "--simulator", "--mode", "accuracy", "--dataset", "cnn.json", "--total-sample-count", "4"];
    let root = folder.path("results/llama3-1-8b-offline-accuracy");
    let folders = || -> Vec<String> {
        let names = fs::read_dir(&root).unwrap().map(|it| it.unwrap());
        names.filter(|it| it.file_type().unwrap().is_dir()).map(|it| it.file_name().into_string().unwrap()).collect()
    };
    folder.benchwright(&flags).assert().success().stdout(predicate::str::contains("check llama3.1-8b: NotJudged"));
    let latest = root.join("latest");
    for file in [
        "config.json",
        "summary.json",
        "report.md",
        "Accuracy/accuracy.txt",
        "Accuracy/rouge.json",
        "Accuracy/mlperf_log_summary.txt",
    ] {
        assert!(latest.join(file).is_file(), "{file}");
    }
    let pictures = fs::read_dir(latest.join("plots")).unwrap().count();
    assert!(pictures >= 4, "{pictures}");
    assert!(root.join("index.md").is_file());
    let first = folders();
    // The folder of another run, which may lie beside it, stays.
    let other = root.join("20200101T000000Z-another-run");
    fs::create_dir(&other).unwrap();
    for file in ["report.json", "run.yaml"] {
        fs::copy(latest.join(file), other.join(file)).unwrap();
    }
    folder.benchwright(&flags).assert().success();
    assert!(other.join("report.json").is_file());
    fs::remove_dir_all(&other).unwrap();
    let second = folders();
    assert!(first.len() == 1 && second.len() == 1 && first != second, "{first:?} {second:?}");
    folder.benchwright(&[&flags[..], &["--keep-all"]].concat()).assert().success();
    assert_eq!(folders().len(), 2);
}
