//! The command lines in the documentation of the MLPerf runners that `benchwright mlperf` and `benchwright mmlu` replace, word for word. A line
//! without a URL starts the program `vllm` from the PATH. Here this is a script that records its arguments and then becomes the simulator.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use assert_cmd::assert::Assert;
use crds::figure::rate_text;
use serde_json::{Value, json};

use crate::common::{Folder, Sim};

const OFFLINE: &str = "mlperf --model meta-llama/Llama-3.1-8B-Instruct --category datacenter --scenario offline --mode both \
    --tensor-parallel-size auto --max-model-len 4096 --gpu-memory-utilization 0.92 --precision bf16 \
    --total-sample-count 20 --keep-all 1";
const SERVER: &str = "mlperf --model meta-llama/Llama-3.1-8B-Instruct --category datacenter --scenario server --mode both \
    --server-target-qps auto --tensor-parallel-size auto --max-model-len 4096 --gpu-memory-utilization 0.92 --precision bf16 \
    --total-sample-count 20 --keep-all 1";
const SINGLE_STREAM: &str = "mlperf --category edge --scenario singlestream --mode performance --tensor-parallel-size auto \
    --max-model-len 4096 --precision bf16 --total-sample-count 512";
/// By MLPerf's rules, a test of a whole benchmark takes at least ten minutes. So these BenchmarkRuns are only validated.
const LONG: [&str; 6] = [
    "mlperf --category datacenter --scenario offline --mode accuracy --max-model-len 4096 --precision bf16",
    "mlperf --model meta-llama/Llama-3.1-8B-Instruct --category datacenter --scenario offline --mode accuracy \
     --tensor-parallel-size auto --max-model-len 4096 --precision bf16",
    "mlperf --category datacenter --scenario offline --mode performance --tensor-parallel-size auto --max-model-len 4096 --precision bf16",
    "mlperf --category datacenter --scenario server --mode performance --server-target-qps auto --tensor-parallel-size auto \
     --max-model-len 4096 --precision bf16",
    "mlperf --category datacenter --scenario offline --mode both --tensor-parallel-size auto --max-model-len 4096 --precision bf16",
    "mlperf --version 5.1 --model llama3.1-8b-instruct --backend vllm --precision fp16 --tensor-parallel-size 2 --max-new-tokens 64 \
     --total-sample-count auto --dataset cnndm --results-dir ./out --keep-all 0 --high-accuracy 1 --extra-metrics 0",
];
const MMLU: &str =
    "mmlu --total-limit 100 --max-model-len 4096 --gpu-memory-utilization 0.92 --precision bf16 --details 1";
/// A command line from the documentation. `@` stands for the port of a server that is already running, which is 8000 there.
const HARNESS: &str = "mlperf --model meta-llama/Llama-3.1-8B-Instruct --dataset-path ./dataset.json --scenario Offline \
    --test-mode performance --api-server-url http://localhost:@ --enable-metrics --user-conf user.conf --lg-model-name llama3_1-8b";

/// Creates a folder with a program `vllm`.
fn with_vllm() -> Folder {
    let folder = Folder::new();
    let script = format!(
        "#!/bin/bash\necho \"$@\" >>'{calls}'\nmodel=$2\nwhile (($#)); do\n  case $1 in --host) host=$2 ;; --port) port=$2 ;; esac\n  shift\ndone\n\
         exec '{benchwright}' sim --preset instant --model \"$model\" --host \"$host\" --port \"$port\" --max-model-len 4096\n",
        calls = folder.path("calls").display(),
        benchwright = env!("CARGO_BIN_EXE_benchwright"),
    );
    fs::create_dir(folder.path("bin")).unwrap();
    folder.write("bin/vllm", &script);
    fs::set_permissions(folder.path("bin/vllm"), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Runs a command line like a shell would.
fn run(folder: &Folder, line: &str) -> Assert {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut command = folder.benchwright(&words);
    command.env("PATH", format!("{}:{}", folder.path("bin").display(), std::env::var("PATH").unwrap()));
    command.env("BENCHWRIGHT_STATE_DIR", folder.path("state"));
    command.env(
        "MMLU_DATA",
        Path::new(env!("CARGO_MANIFEST_DIR")).join("data-sets/tests/fixtures/dataset-fixtures/mmlu/hf_all"),
    );
    command.assert().success()
}

fn said(ended: &Assert) -> String {
    String::from_utf8_lossy(&ended.get_output().stderr).into_owned()
}

/// Reads a JSON file of the last run.
fn document(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.path(&format!("results/latest/{name}"))).unwrap()).unwrap()
}

/// Returns the mode of a test in the last run, and the number of queries that LoadGen reports.
fn test_of(folder: &Folder, number: usize) -> (String, Option<u64>) {
    let test = &document(folder, "summary.json")["tests"][number];
    (test["mode"].as_str().unwrap().to_owned(), test["figures"]["result_query_count"].as_u64())
}

#[test]
fn the_lines_of_the_runner_start_a_vllm_and_issue_what_they_name() {
    let folder = with_vllm();
    let offline = said(&run(&folder, OFFLINE));
    assert!(offline.contains("a smoke test of 20 samples: its result is not a valid result of MLPerf"), "{offline}");
    assert_eq!(folder.report()["summary"]["requests"], 40);
    assert_eq!(test_of(&folder, 0).0, "AccuracyOnly");
    // In Offline, all samples are one query.
    assert_eq!(test_of(&folder, 1), ("PerformanceOnly".to_owned(), Some(1)));
    let summary = document(&folder, "summary.json");
    assert!(summary["system"]["vllm_version"].as_str().is_some_and(|it| it.starts_with('0')), "{summary}");
    assert_eq!(
        (&summary["meta"]["category"], &summary["system"]["torch_version"]),
        (&"datacenter".into(), &Value::Null)
    );
    let performance = &summary["run"]["performance"];
    let [seconds, tokens, rate] =
        ["duration_s", "total_new_tokens", "tokens_per_sec"].map(|it| performance[it].as_f64().unwrap());
    let stage = folder.report()["stages"][1]["figures"].clone();
    assert!((seconds * 1e3 / stage["durationMs"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{performance} {stage}");
    assert_eq!(Some(tokens), stage["outputTokens"].as_f64(), "{performance} {stage}");
    assert_eq!(Some(rate), summary["tests"][1]["figures"]["result_tokens_per_second"].as_f64(), "{performance}");
    for plot in ["tokens_per_sec", "latency_cdf"] {
        let file = summary["plots"][plot].as_str().unwrap();
        assert!(folder.path("results/latest").join(file).is_file(), "{file}");
    }
    let server = said(&run(&folder, SERVER));
    assert!(server.contains("the target rate comes from the last Offline run against this target"), "{server}");
    assert_eq!(folder.report()["summary"]["requests"], 40);
    assert_eq!(test_of(&folder, 1), ("PerformanceOnly".to_owned(), Some(20)));
    let rate = document(&folder, "summary.json")["tests"][1]["targetQps"].as_f64().unwrap();
    let page = fs::read_to_string(folder.path("results/latest/report.md")).unwrap();
    assert!(page.contains("this is a smoke test, which is no valid MLPerf result"), "{page}");
    assert!(page.contains("target/s") && page.contains(&format!("| {} ", rate_text(rate))), "{rate}\n{page}");
    run(&folder, SINGLE_STREAM);
    let performance = document(&folder, "summary.json")["run"]["performance"].clone();
    // LoadGen writes six digits, so the rate may be printed as a whole number.
    let rates = ["tokens_per_sec", "samples_per_sec"].map(|it| performance[it].as_f64());
    assert!(rates.iter().all(|it| it.is_some_and(|it| it > 0.0)), "{performance}");
    assert_eq!(test_of(&folder, 0), ("PerformanceOnly".to_owned(), Some(512)));
    for call in fs::read_to_string(folder.path("calls")).unwrap().lines() {
        assert!(call.starts_with("serve meta-llama/Llama-3.1-8B-Instruct --host 127.0.0.1 --port "), "{call}");
        assert!(call.contains(" --max-model-len 4096") && call.ends_with(" --dtype bfloat16"), "{call}");
    }
}

#[test]
fn the_long_lines_of_the_runner_are_valid_runs() {
    let folder = Folder::new();
    for line in LONG {
        let printed = run(&folder, &format!("{line} --dry-run"));
        let text = String::from_utf8(printed.get_output().stdout.clone()).unwrap();
        // In a cluster the server needs an image. On a laptop the program from the PATH is used instead.
        let text = text.replace("engine: VLLM", "engine: VLLM\n      image: vllm/vllm-openai:latest");
        folder.write("printed.yaml", &text);
        folder.benchwright(&["validate", "printed.yaml"]).assert().success();
    }
    let run: Value = serde_saphyr::from_str(&fs::read_to_string(folder.path("printed.yaml")).unwrap()).unwrap();
    let server = &run["spec"]["target"]["server"];
    assert_eq!(
        (&server["model"], &server["dtype"], &server["tensorParallelSize"]),
        (&json!("meta-llama/Llama-3.1-8B-Instruct"), &json!("float16"), &json!(2))
    );
    let profile: Value = serde_saphyr::from_str(run["spec"]["profile"]["inline"].as_str().unwrap()).unwrap();
    assert_eq!((&profile["round"], &profile["tokens"]), (&json!("v5.1"), &json!({"max": 64})));
    assert_eq!((&profile["qsl"], &profile["settings"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_file_describes_the_server_that_is_started() {
    let folder = Folder::new();
    folder.write("server.yaml", "engine: Simulator\nargs: [--preset, instant]\nmaxModelLen: 4096\n");
    run(&folder, "mlperf --server-config server.yaml --scenario Offline --total-sample-count 20");
    let command = folder.report()["managedServer"]["replicas"][0]["command"].to_string();
    assert!(command.contains("instant") && command.contains("4096"), "{command}");
    folder.write("small.yaml", "engine: Simulator\nargs: [--preset, instant]\nmaxModelLen: 1024\n");
    let printed = run(&folder, "mlperf --server-config small.yaml --dry-run");
    let printed = String::from_utf8_lossy(&printed.get_output().stdout).into_owned();
    assert!(printed.contains("max: 896"), "{printed}");
    folder.write("server.yaml", "- engine\n");
    folder.write("other.yaml", "engine: Simulator\nmodels: a\n");
    for (line, expected) in [
        ("--server-config server.yaml", "server.yaml has no fields; write fields of spec.target.server"),
        ("--server-config none.yaml", "none.yaml cannot be read"),
        ("--server-config other.yaml --dry-run", "spec.target.server.models"),
        ("--simulator --version 4.1 --dry-run", "v4.1"),
        ("--max-model-len 100 --dry-run", "answers of 128 tokens leave no room for a prompt"),
    ] {
        let refused = folder.benchwright(&["mlperf"]).args(line.split(' ')).assert().code(10);
        assert!(said(&refused).contains(expected), "{line}: {}", said(&refused));
    }
}

#[test]
fn the_line_of_mmlu_runs_as_it_is() {
    let folder = with_vllm();
    run(&folder, MMLU);
    for file in ["overall.json", "by_domain.json", "by_subject.json", "samples.csv"] {
        assert!(folder.path("results/latest").join(file).is_file(), "{file}");
    }
    assert!(document(&folder, "overall.json")["overall_accuracy"].is_number());
}

#[test]
fn the_line_of_the_harness_runs_against_a_server_and_follows_its_user_conf() {
    let folder = Folder::new();
    let rows: Vec<Value> =
        (0..13_368).map(|it| json!({"input": "a", "tok_input": [it % 100 + 1, 7], "output": "b"})).collect();
    folder.write("dataset.json", &serde_json::to_string(&rows).unwrap());
    folder
        .write("user.conf", "*.Offline.min_duration = 0\nllama3_1-8b.Offline.min_query_count = 100\n*.Offline.sample_concatenate_permutation = 0\n*.Offline.target_qps = 33\n");
    let model = "meta-llama/Llama-3.1-8B-Instruct";
    let server = Sim::start(&["--preset", "instant", "--model", model, "--max-model-len", "4096"]);
    run(&folder, &HARNESS.replace("http://localhost:@", &server.url));
    // The file sets the rate and the count, so the launcher does not search for a rate.
    let summary = document(&folder, "summary.json");
    assert_eq!((&summary["trials"], &summary["model"]), (&json!([]), &json!(model)));
    assert_eq!(folder.report()["summary"]["requests"], 100);
}
