//! `benchwright mlperf`: the flags of an MLPerf runner, and the result files of a run.

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
        "settings": {"min_duration": 60000, "min_query_count": 100}, "qsl": {"total_sample_count": 100}, "maxConcurrency": 64,
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
    let printed = folder.benchwright(&["mlperf", "--dry-run", "--precision", "bf16", "--tensor-parallel-size", "auto"]);
    let printed = { printed }.assert().success();
    let started: Value = serde_saphyr::from_slice(&printed.get_output().stdout).unwrap();
    let server = json!({
        "engine": "VLLM", "model": "meta-llama/Llama-3.1-8B-Instruct", "dtype": "bfloat16", "tensorParallelSize": "Auto",
    });
    assert_eq!(started["spec"]["target"], json!({"server": server}));
    let count = folder.benchwright(&["mlperf", "--simulator", "--total-sample-count", "some"]).assert().failure();
    count.stderr(predicate::str::contains("--total-sample-count is \"some\"; write a number above 0, or auto"));
    let wrong = folder.benchwright(&["mlperf", "--simulator", "--server-target-qps", "fast", "--scenario", "server"]);
    { wrong }.assert().code(10).stderr(predicate::str::contains("target_qps: is \"fast\""));
}

#[test]
fn a_user_conf_decides_what_no_flag_says() {
    let folder = Folder::new();
    folder.write(
        "user.conf",
        "*.Server.target_qps = 33\nllama3_1-8b-edge.SingleStream.target_latency = 50\n*.*.min_duration = 7000\n",
    );
    let common = ["--simulator", "--user-conf", "user.conf", "--total-sample-count", "20"];
    let server = profile_of(&folder, &[&common[..], &["--scenario", "server"]].concat());
    assert_eq!((&server["target_qps"], &server["settings"]), (&Value::Null, &json!({"min_query_count": 20})));
    let edge = profile_of(&folder, &[&common[..], &["--scenario", "singlestream", "--category", "edge"]].concat());
    assert_eq!(edge["settings"], json!({"min_query_count": 19}));
    // The line in user.conf is for another benchmark, so it has no effect.
    let datacenter = profile_of(&folder, &[&common[..], &["--scenario", "singlestream"]].concat());
    assert_eq!(datacenter["settings"], json!({"min_query_count": 19, "target_latency": 1000.0}));
    let flag = ["mlperf", "--dry-run", "--scenario", "server", "--server-target-qps", "5"];
    let said = folder.benchwright(&[&flag[..], &common[..]].concat()).assert().success();
    said.stderr(predicate::str::contains("--server-target-qps overrides the value of --user-conf"));
}

#[test]
fn a_run_leaves_the_runners_files_and_replaces_earlier_ones_only_where_it_may() {
    let folder = Folder::new();
    let rows: Vec<Value> =
        (0..4).map(|it| json!({"tok_input": [it + 1, 7, 9], "input": "an article", "output": "a summary"})).collect();
    folder.write("cnn.json", &serde_json::to_string(&rows).unwrap());
    // The mode is accuracy, because a performance test in Offline would send thousands of samples.
    let flags = ["mlperf", "--simulator", "--mode", "accuracy", "--dataset", "cnn.json", "--total-sample-count", "4"];
    let root = folder.path("results");
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
    // The folder of another run is kept, even if it is next to the folders of these runs.
    let other = root.join("20200101T000000Z-another-run");
    fs::create_dir(&other).unwrap();
    for file in ["report.json", "run.yaml"] {
        fs::copy(latest.join(file), other.join(file)).unwrap();
    }
    // Earlier runs are kept by default. They are also kept if the new run is cancelled, is not valid, or has other settings.
    let replacing = |more: &[&str]| folder.benchwright(&[&flags[..], &["--keep-all", "0"], more].concat());
    folder.benchwright(&flags).assert().success();
    replacing(&["--max-concurrency", "7"]).assert().success();
    let mut one_fails =
        folder.benchwright(&["mlperf", "--mode", "accuracy", "--keep-all", "0", "--url", "http://127.0.0.1:9"]);
    one_fails.args(["--total-sample-count", "4", "--dataset", "nowhere.json"]).assert().failure();
    assert_eq!(folders().len(), 4);
    let replaced = replacing(&[]).assert().success();
    replaced.stderr(predicate::str::contains("deleted by --keep-all 0: ").and(predicate::str::contains(&first[0])));
    assert!(other.join("report.json").is_file());
    let left = folders();
    assert!(left.len() == 3 && !left.contains(&first[0]), "{left:?}");
}
