//! LoadGen tests from the command line: from a BenchmarkRun to the logs.

use std::{fs, time::Duration};

use predicates::prelude::*;
use report::{LoadGenConfig, LoadGenSummary};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::common::{Folder, at, simulated};

/// A test of 40 samples with a few tokens each. `lines` are additional lines of the profile.
fn profile(lines: &str) -> String {
    format!(
        "benchmark: llama3.1-8b\n\
         qsl: {{total_sample_count: 40}}\n\
         dataset: {{synthetic: {{input: 16, output: 8}}}}\n\
         sampling: {{ignoreEos: true}}\n\
         {lines}\n"
    )
}

fn run(lines: &str) -> Folder {
    let folder = Folder::new();
    let spec = simulated(&profile(lines)).replace("spec:\n", "spec:\n  harness: loadgen\n");
    folder.write("run.yaml", &spec);
    folder
}

fn text(folder: &Folder, file: &str) -> String {
    fs::read_to_string(folder.path("results/latest").join(file)).unwrap()
}

fn json(folder: &Folder, file: &str) -> Value {
    serde_json::from_str(&text(folder, file)).unwrap()
}

/// Checks that the program's own types can read a file and write the same file again.
fn check_reads_back<T: Serialize + DeserializeOwned>(folder: &Folder, file: &str) {
    let written = text(folder, file);
    let read: T = serde_json::from_str(&written).unwrap();
    assert_eq!(serde_json::to_string_pretty(&read).unwrap() + "\n", written);
}

/// Returns the values of a key in a detail log.
fn values(log: &str, key: &str) -> Vec<Value> {
    let entries = log.lines().map(|it| serde_json::from_str::<Value>(it.strip_prefix(":::MLLOG ").unwrap()).unwrap());
    entries.filter(|it| it["key"] == key).map(|it| it["value"].clone()).collect()
}

#[test]
fn accuracy_and_performance_leave_logs_in_folders_of_their_own() {
    let folder = run("scenario: Server\nmode: both\ntarget_qps: 400\n\
         settings: {min_duration: 1200, min_query_count: 480, performance_sample_count_override: 40, ttft_latency: 60000, tpot_latency: 60000}");
    // LoadGen's own programs would apply this file. Here it has no effect, because the profile does not name it.
    folder.write("audit.config", "*.*.mode = 2\n*.*.min_query_count = 1\n*.*.min_duration = 0\n");
    let run = folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    run.stdout(predicate::str::contains("VALID").and(predicate::str::contains("Accuracy")));

    let summary = text(&folder, "Performance/mlperf_log_summary.txt");
    assert!(summary.contains("Result is : VALID") && summary.contains("Scenario : Server"), "{summary}");
    let detail = text(&folder, "Performance/mlperf_log_detail.txt");
    assert_eq!(values(&detail, "result_validity"), ["VALID"]);
    assert_eq!(values(&detail, "num_errors"), [0]);
    // The test sends whole passes over 40 samples, until 1.2 s have passed.
    let count = values(&detail, "result_query_count")[0].as_u64().unwrap();
    assert!(count >= 480 && count.is_multiple_of(40), "{count}");
    assert_eq!(values(&detail, "generated_query_count"), [count]);
    assert_eq!(text(&folder, "Performance/mlperf_log_accuracy.json"), "[\n]\n");

    let answers = json(&folder, "Accuracy/mlperf_log_accuracy.json");
    let mut samples: Vec<u64> = answers.as_array().unwrap().iter().map(|it| it["qsl_idx"].as_u64().unwrap()).collect();
    samples.sort_unstable();
    assert_eq!(samples, (0..40).collect::<Vec<_>>());
    // The answer has eight token ids of four bytes each, in hexadecimal. The first token arrived alone.
    let answer = &answers[0];
    assert_eq!((answer["data"].as_str().unwrap().len(), answer["token_count"].as_u64()), (64, Some(8)));
    assert!(answer["data"].as_str().unwrap().starts_with(answer["token_data"].as_str().unwrap()));

    let tests = json(&folder, "summary.json");
    assert_eq!(tests["tests"][1]["valid"], true);
    assert_eq!(tests["tests"][0]["mode"], "AccuracyOnly");
    assert_eq!(json(&folder, "config.json")["loadgen"]["benchmark"], "llama3_1-8b");
    check_reads_back::<LoadGenSummary>(&folder, "summary.json");
    check_reads_back::<LoadGenConfig>(&folder, "config.json");
    assert_eq!(folder.report()["outcome"], "Passed");
    assert!(text(&folder, "report.md").contains("## LoadGen tests"));
    let performance = &folder.report()["loadgen"]["tests"][1];
    assert_eq!((&performance["result"], &performance["rules"]["minQueriesMet"]), (&"VALID".into(), &true.into()));
    assert!(text(&folder, "report.html").contains("LoadGen tests"));
    let index = fs::read_to_string(folder.path("results/index.md")).unwrap();
    assert!(index.contains("| Passed, Server complete, Server VALID |"), "{index}");
}

#[test]
fn a_test_past_its_limits_makes_the_run_invalid() {
    let folder = run("scenario: Server\ntarget_qps: 200\n\
         settings: {min_duration: 300, min_query_count: 60, performance_sample_count_override: 40, ttft_latency: 0}");
    folder.benchwright(&["run", "--gate", "-f", "run.yaml"]).assert().code(2);
    let report = folder.report();
    assert_eq!(report["outcome"], "Invalid");
    let reason = report["reasons"].as_array().unwrap().iter().find(|it| it["reason"] == "LoadGenInvalid").unwrap();
    assert!(reason["message"].as_str().unwrap().contains("TTFT"), "{reason}");
}

#[test]
fn a_rate_that_nobody_knows_is_searched_and_confirmed() {
    let folder = run("scenario: Server\ntarget_qps: search\n\
         settings: {min_duration: 400, min_query_count: 40, performance_sample_count_override: 40, ttft_latency: 150, tpot_latency: 60}");
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let summary = json(&folder, "summary.json");
    let trials = summary["trials"].as_array().unwrap();
    let (last, short) = trials.split_last().unwrap();
    assert_eq!(last["full"], true, "{trials:?}");
    assert!(!short.is_empty() && short.iter().any(|it| it["full"] == false), "{trials:?}");
    // The test was issued at the rate of the last trial.
    let detail = text(&folder, "Performance/mlperf_log_detail.txt");
    let asked = values(&detail, "effective_target_qps")[0].as_f64().unwrap();
    assert!((asked / last["rate"].as_f64().unwrap() - 1.0).abs() < 1e-4, "{asked} {last}");
}

#[test]
fn the_search_of_loadgen_itself_logs_each_of_its_trials() {
    let folder = run("scenario: Server\nmode: FindPeakPerformance\ntarget_qps: 50\n\
         settings: {min_duration: 400, min_query_count: 20, performance_sample_count_override: 40, sample_concatenate_permutation: 0, \
         ttft_latency: 250, accuracy_log_sampling_target: 1000000, server_find_peak_qps_decimals_of_precision: 0, server_find_peak_qps_boundary_step_size: 3}");
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    assert!(text(&folder, "Performance/mlperf_log_summary.txt").contains("Mode     : FindPeakPerformance"));
    let trials = json(&folder, "summary.json")["trials"].as_array().unwrap().len();
    let detail = text(&folder, "Performance/mlperf_log_detail.txt");
    assert_eq!(values(&detail, "generated_query_count").len(), trials);
    // The setting requests more answers than there are, so the log contains all samples of all trials, numbered in sequence.
    let generated: u64 = values(&detail, "generated_query_count").iter().map(|it| it.as_u64().unwrap()).sum();
    let answers = json(&folder, "Performance/mlperf_log_accuracy.json");
    let mut logged: Vec<u64> = answers.as_array().unwrap().iter().map(|it| it["seq_id"].as_u64().unwrap()).collect();
    logged.sort_unstable();
    assert_eq!(logged, (0..generated).collect::<Vec<_>>());
    let starts = |key: &str, with: &str| values(&detail, key).iter().any(|it| it.as_str().unwrap().starts_with(with));
    // Whether the server keeps up with the first rate depends on the machine. If not, there is no peak.
    let found = starts("generic_message", "FindPeakPerformance: Found peak performance field: ");
    let refused = starts("error_runtime", "FindPeakPerformance: Initial lower bound does not satisfy");
    assert!(found != refused && (refused || trials > 3), "{trials} trials");
}

#[test]
fn a_server_test_takes_its_rate_from_the_last_offline_test() {
    let folder = run(
        "scenario: Offline\nsettings: {min_duration: 0, min_query_count: 400, performance_sample_count_override: 40}",
    );
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let offline = json(&folder, "summary.json")["tests"][0]["figures"]["result_samples_per_second"].as_f64().unwrap();
    let server = simulated(&profile(
        "scenario: Server\ntarget_qps: auto\nsettings: {min_duration: 300, min_query_count: 40, performance_sample_count_override: 40}",
    ));
    folder.write("run.yaml", &server.replace("spec:\n", "spec:\n  harness: loadgen\n"));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let detail = text(&folder, "Performance/mlperf_log_detail.txt");
    let asked = values(&detail, "requested_server_target_qps")[0].as_f64().unwrap();
    assert!((asked / (0.8 * offline) - 1.0).abs() < 1e-3, "{asked}, offline {offline}");
}

#[test]
fn a_plan_tells_what_a_run_would_issue() {
    let folder = run(
        "scenario: Server\nmode: both\ntarget_qps: 20\nsettings: {min_duration: 10000, min_query_count: 100, performance_sample_count_override: 40}",
    );
    let plan = folder.benchwright(&["plan", "-f", "run.yaml", "--json", "--queries", "2"]).assert().success();
    let plan: Value = serde_json::from_slice(&plan.get_output().stdout).unwrap();
    let performance = &plan["tests"][1]["phases"][0];
    assert_eq!((performance["queries"].as_u64(), performance["passes"].as_f64()), (Some(200), Some(5.0)));
    folder.benchwright(&["plan", "-f", "run.yaml"]).assert().success().stdout(predicate::str::contains("5 x the 40"));
}

#[test]
fn a_plan_tells_of_a_deadline_that_comes_before_the_end() {
    let note = "execution.deadlines.runSeconds: is 3600, and the tests take";
    for (rate, told) in [("target_qps: 0.02", true), ("target_qps: 0.2", false), ("target_qps: search", false)] {
        let settings = "settings: {min_duration: 0, min_query_count: 120, performance_sample_count_override: 40}";
        let folder = run(&format!("scenario: Server\n{rate}\n{settings}"));
        let plan = folder.benchwright(&["plan", "-f", "run.yaml"]).assert().success();
        assert_eq!(String::from_utf8_lossy(&plan.get_output().stderr).contains(note), told, "{rate}");
    }
    let lines = "scenario: Offline\nsettings: {min_duration: 0, min_query_count: 40, target_qps: 0.01, performance_sample_count_override: 40}";
    let run = run(lines).benchwright(&["run", "-f", "run.yaml"]).assert().success();
    run.stderr(predicate::str::contains("is 3600, and the tests take 4000 s as planned"));
}

#[test]
fn a_user_conf_that_loadgen_would_refuse_names_its_line() {
    let folder = run(
        "scenario: Offline\nuser_conf: |\n  *.Offline.target_qps = 5\n  *.Offline.min_duration = 600 # ten minutes",
    );
    let refused = folder.benchwright(&["run", "-f", "run.yaml"]).assert().code(10);
    refused.stderr(predicate::str::contains("user.conf").and(predicate::str::contains("line 2")));
}

#[test]
fn a_data_set_that_is_not_there_is_told_before_a_target_is_waited_for() {
    let folder = Folder::new();
    let profile = "benchmark: llama3.1-8b\nscenario: Offline\nqsl: {total_sample_count: 40}\ndataset: {file: {path: nowhere.json}}\n";
    // Nothing listens at this address, and the readiness timeout is longer than a test may take.
    let spec = at("http://127.0.0.1:9", 3_000, profile);
    folder.write("run.yaml", &spec.replace("spec:\n", "spec:\n  harness: loadgen\n"));
    let refused = folder.benchwright(&["run", "-f", "run.yaml"]).timeout(Duration::from_secs(600)).assert().code(10);
    refused.stderr(predicate::str::contains("nowhere.json"));
}
