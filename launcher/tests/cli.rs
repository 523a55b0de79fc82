//! The built binary, called like a user would, against its own simulator and against servers that misbehave.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "cli/accuracy.rs"]
mod accuracy;
#[path = "cli/accuracy_runs.rs"]
mod accuracy_runs;
#[path = "cli/apis.rs"]
mod apis;
#[path = "cli/archive.rs"]
mod archive;
#[path = "cli/chromium.rs"]
mod chromium;
#[path = "cli/compare.rs"]
mod compare;
#[path = "cli/dataset.rs"]
mod dataset;
#[path = "cli/extending.rs"]
mod extending;
#[path = "cli/identity.rs"]
mod identity;
#[path = "cli/index_page.rs"]
mod index_page;
#[path = "cli/init.rs"]
mod init;
#[path = "cli/live_metrics.rs"]
mod live_metrics;
#[path = "cli/loadgen.rs"]
mod loadgen;
#[path = "cli/makefile.rs"]
mod makefile;
#[cfg(target_os = "linux")]
#[path = "cli/managed_servers.rs"]
mod managed_servers;
#[path = "cli/mlperf.rs"]
mod mlperf;
#[path = "cli/mmlu.rs"]
mod mmlu;
#[path = "cli/objectives.rs"]
mod objectives;
#[path = "cli/pages.rs"]
mod pages;
#[path = "cli/percentiles.rs"]
mod percentiles;
#[path = "cli/plot.rs"]
mod plot;
#[path = "cli/profiles.rs"]
mod profiles;
#[path = "cli/profiling.rs"]
mod profiling;
#[path = "cli/prompts.rs"]
mod prompts;
#[path = "cli/prune.rs"]
mod prune;
#[path = "cli/readiness.rs"]
mod readiness;
#[path = "cli/repeat.rs"]
mod repeat;
#[path = "cli/repeats.rs"]
mod repeats;
#[path = "cli/runner_lines.rs"]
mod runner_lines;
#[path = "cli/server_metrics.rs"]
mod server_metrics;
#[path = "cli/startup.rs"]
mod startup;
#[path = "cli/sut.rs"]
mod sut;
#[path = "cli/sweep.rs"]
mod sweep;
#[path = "cli/validate.rs"]
mod validate;
#[path = "cli/windows.rs"]
mod windows;

use std::{
    fs,
    process::{Command, Output, Stdio},
};

use crate::common::{Folder, HEAD, at, profile, simulated};
use predicates::prelude::*;

#[test]
fn a_run_prints_its_table_and_leaves_its_folder() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(20, 2)));
    let run = folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let progress = predicate::str::contains("stage 1 of 1 (r20), ").and(predicate::str::contains("\u{1b}").not());
    run.stdout(predicate::str::contains("TTFT").and(predicate::str::contains("ITL"))).stderr(progress);
    let latest = folder.path("results/latest");
    for file in [
        "run.yaml",
        "profile.yaml",
        "benchmarkrun.yaml",
        "report.json",
        "report.html",
        "report.md",
        "benchmark_report_v0.2.yaml",
        "benchmark_report_v0.2.1.json",
        "requests.parquet",
    ] {
        assert!(latest.join(file).exists(), "{file} is missing");
    }
    let report = folder.report();
    assert_eq!(report["outcome"], "Passed");
    assert_eq!(report["summary"]["requests"], 40);
    assert_eq!(report["summary"]["failed"], 0);
    assert_eq!(report["summary"]["cancelled"], 0);
    folder.benchwright(&["show", "results/latest"]).assert().success().stdout(predicate::str::contains("TTFT"));
    let index = fs::read_to_string(folder.path("results/index.md")).unwrap();
    assert!(index.contains("chat"), "{index}");
    let page = fs::read_to_string(folder.path("results/index.html")).unwrap();
    assert!(page.contains("\"name\":\"chat\"") && page.contains("\"outcome\":\"Passed\""), "{page}");
    let again = predicate::str::contains("results/index.html lists 1 folders; 0 reports were read");
    folder.benchwright(&["index"]).assert().success().stdout(again);
    let nowhere = folder.benchwright(&["index", "nowhere"]).assert().failure();
    nowhere.stderr(predicate::str::contains("nowhere: ").and(predicate::str::contains("give the folder")));
}

#[test]
fn a_page_is_made_of_a_finished_folder_again() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    let run = folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    run.stdout(predicate::str::contains("page: ").and(predicate::str::contains("report.html")));
    let first = fs::read_to_string(folder.path("results/latest/report.html")).unwrap();
    assert!(first.starts_with("<!doctype html>") && first.contains("Content-Security-Policy"));
    folder.benchwright(&["page", "results/latest/report.json", "-o", "again.html"]).assert().success();
    assert_eq!(fs::read_to_string(folder.path("again.html")).unwrap(), first);
    fs::remove_file(folder.path("results/latest/report.html")).unwrap();
    folder.benchwright(&["page", "results/latest"]).assert().success();
    assert_eq!(fs::read_to_string(folder.path("results/latest/report.html")).unwrap(), first);
    folder
        .benchwright(&["page", "nowhere"])
        .assert()
        .code(10)
        .stderr(predicate::str::contains("nowhere: ").and(predicate::str::contains("give a results folder")));
    folder.write("other.json", "{}");
    let other = folder.benchwright(&["page", "other.json"]).assert().code(10);
    other.stderr(predicate::str::contains("other.json: not a report.json"));
}

#[test]
fn a_reader_that_has_gone_loses_no_result() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    let mut command = folder.command(&["run", "-f", "run.yaml"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(folder.report()["outcome"], "Passed");
}

#[test]
fn a_slip_in_the_arguments_is_no_invalid_run() {
    let folder = Folder::new();
    folder.benchwright(&["run", "--gate", "--nope"]).assert().code(10).stderr(predicate::str::contains("--nope"));
    let commit = predicate::str::contains(env!("BENCHWRIGHT_COMMIT"));
    folder.benchwright(&["--version"]).assert().success().stdout(commit);
}

#[test]
fn a_model_that_the_profile_names_is_the_simulator_s() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(20, 1).replacen('{', "{server: {model_name: org/m}, ", 1)));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    assert_eq!(folder.report()["model"], "org/m");
}

#[test]
fn a_generated_name_is_a_name() {
    let folder = Folder::new();
    let text = simulated(&profile(20, 1)).replace("{name: chat}", "{generateName: nightly-}");
    folder.write("run.yaml", &text);
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    assert_eq!(folder.report()["run"]["name"], "nightly");
    folder.write("run.yaml", &text.replace("{generateName: nightly-}", "{}"));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().code(10).stderr(predicate::str::contains("metadata.name"));
    folder.write("two.yaml", &format!("{text}---\n{text}"));
    folder
        .benchwright(&["run", "-f", "two.yaml"])
        .assert()
        .code(10)
        .stderr(predicate::str::contains("a file of its own"));
}

#[test]
fn the_same_seed_asks_for_the_same_requests_at_the_same_times() {
    let plan = |seed: u32| {
        let folder = Folder::new();
        folder.write("run.yaml", &format!("{}  seed: {seed}\n", simulated(&profile(30, 1))));
        folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
        folder.plan()
    };
    let first = plan(7);
    assert_eq!(first.len(), 30);
    assert_eq!(first, plan(7));
    assert_ne!(first, plan(8));
}

#[test]
fn what_cannot_be_run_says_field_value_and_remedy() {
    let cases = [
        ("", "is empty"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n", "takes a benchwright.dev/v1alpha1 BenchmarkRun"),
        (&format!("{HEAD}spec: {{target: {{simulator: {{}}}}, harness: locust}}\n"), "inference-perf"),
        (&format!("{HEAD}spec: {{target: {{simulator: {{}}}}, profile: {{name: sanity_rnadom}}}}\n"), "sanity_random"),
        (
            &format!(
                "{HEAD}spec: {{target: {{simulator: {{}}}}, profile: {{overrides: {{load.stgaes.0.rate: '5'}}}}}}\n"
            ),
            "did you mean stages?",
        ),
        (
            &format!(
                "{HEAD}spec: {{target: {{simulator: {{}}}}, profile: {{overrides: {{load.stages.0.rate: '0'}}}}}}\n"
            ),
            "load.stages[0].rate",
        ),
        (
            &format!(
                "{HEAD}spec: {{target: {{simulator: {{}}}}, profile: {{overrides: {{load.stages.0.rate: '1e9'}}}}}}\n"
            ),
            "1000000",
        ),
        (
            &simulated(
                "{% for a in range(end=100000) %}{% for b in range(end=100000) %}{% for c in range(end=100000) %}{% endfor %}{% endfor %}{% endfor %}",
            ),
            "for",
        ),
    ];
    for (text, remedy) in cases {
        let folder = Folder::new();
        folder.write("run.yaml", text);
        folder
            .benchwright(&["run", "-f", "run.yaml"])
            .assert()
            .code(10)
            .stdout("")
            .stderr(predicate::str::contains(remedy).and(predicate::str::contains("panicked").not()));
        assert!(!folder.path("results").exists(), "a folder was made for {text:?}");
    }
}

#[test]
fn a_mistake_is_told_once() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated("load: 5"));
    for command in ["run", "render"] {
        folder
            .benchwright(&[command, "-f", "run.yaml"])
            .assert()
            .code(10)
            .stderr(predicate::str::contains("data: is missing").count(1));
    }
}

#[test]
fn a_file_that_does_not_exist_is_named() {
    let folder = Folder::new();
    folder
        .benchwright(&["run", "-f", "nowhere.yaml"])
        .assert()
        .code(10)
        .stderr(predicate::str::contains("nowhere.yaml"));
}

#[test]
fn a_server_that_fails_gives_an_invalid_run_with_its_errors_counted() {
    let server = crate::common::Sim::start(&["--fail-status", "500", "--fail-ratio", "0.5", "--preset", "instant"]);
    let folder = Folder::new();
    folder.write("run.yaml", &crate::common::at(&server.url, 20, &profile(40, 2)));
    folder.benchwright(&["run", "-f", "run.yaml", "--gate"]).assert().code(2);
    let report = folder.report();
    assert_eq!((&report["outcome"], &report["reasons"][0]["reason"]), (&"Invalid".into(), &"TooManyErrors".into()));
    let failed = report["figures"]["outcomes"]["http_500"].as_u64().unwrap();
    let ok = report["figures"]["outcomes"]["ok"].as_u64().unwrap();
    assert_eq!(failed + ok, 80);
    assert!(failed > 20 && ok > 20, "{failed} {ok}");
    assert_eq!(report["figures"]["ttftMs"]["count"], ok, "a failed request stands among the latencies");
}

#[test]
fn a_stream_that_breaks_in_the_middle_is_no_success() {
    let server =
        crate::common::Sim::start(&["--break-after-tokens", "3", "--fail-ratio", "0.5", "--preset", "instant"]);
    let folder = Folder::new();
    folder.write("run.yaml", &crate::common::at(&server.url, 20, &profile(40, 2)));
    folder.benchwright(&["run", "-f", "run.yaml", "--gate"]).assert().code(2);
    let outcomes = folder.report()["figures"]["outcomes"].clone();
    let broken = outcomes["broken_stream"].as_u64().unwrap();
    assert!(broken > 20, "{outcomes}");
    assert_eq!(broken + outcomes["ok"].as_u64().unwrap(), 80, "{outcomes}");
}

#[test]
fn a_signal_stops_issuing_and_leaves_a_partial_result() {
    let folder = Folder::new();
    let two_stages = profile(20, 1).replace("duration: 1}", "duration: 1}, {rate: 20, duration: 600}");
    folder.write("run.yaml", &simulated(&two_stages));
    let mut running = folder.start(&["run", "-f", "run.yaml"]);
    // The second stage begins when all 20 requests of the first stage have been issued.
    running.wait_for("stage 2 of 2");
    assert_eq!(running.terminate(), Some(20), "{}", running.seen);
    assert!(running.seen.contains("nothing more is issued"), "{}", running.seen);
    let report = folder.report();
    assert_eq!((&report["outcome"], &report["partial"]), (&"Cancelled".into(), &true.into()));
    let counts = &report["figures"]["outcomes"];
    assert!(counts["ok"].as_u64().unwrap() > 0, "{counts}");
    let requests = report["summary"]["requests"].as_u64().unwrap();
    assert!(
        (20..2_000).contains(&requests),
        "12,020 are planned, and those that were due by then are counted: {counts}"
    );
}

#[test]
fn results_that_cannot_be_written_are_told_before_the_load() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(5, 1)));
    folder.write("file", "");
    folder
        .benchwright(&["run", "-f", "run.yaml", "--results", "file/results"])
        .assert()
        .code(12)
        .stderr(predicate::str::contains("file/results"));
}

/// Runs with results on a file system of this size. `None` if this process may not mount one.
fn run_on_a_small_disk(folder: &Folder, size: &str) -> Option<Output> {
    let script = format!(
        "mkdir -p small && mount -t tmpfs -o size={size} tmpfs small || exit 99; \
         \"$0\" run -f run.yaml --results small; status=$?; find small -type f; exit $status"
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, env!("CARGO_BIN_EXE_benchwright")]);
    let output = command.current_dir(folder.path("")).output().ok()?;
    let refused = String::from_utf8_lossy(&output.stderr).contains("unshare: ");
    if refused || output.status.code() == Some(99) {
        eprintln!("not tested: this process may not mount a file system");
        return None;
    }
    Some(output)
}

#[test]
fn too_little_space_for_the_results_is_told_before_the_load() {
    let folder = Folder::new();
    // There is room for the reports, but not for the rows of 1,000,000 requests.
    folder.write("run.yaml", &simulated(&profile(100_000, 10)));
    let Some(output) = run_on_a_small_disk(&folder, "32m") else { return };
    let (said, files) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(12), "{said}");
    for part in [
        "file system of small has 31 MiB free",
        "may need 261 MiB",
        "1000000 rows, one per request",
        "perRequestRecords: None",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(files, "", "nothing is left of a run that was refused");
    // There is not even room for the reports. This is reported before the wait for the target.
    folder.write("run.yaml", &at("http://127.0.0.1:9", 600, &profile(5, 1)));
    let output = run_on_a_small_disk(&folder, "8m").unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(12), "{said}");
    assert!(said.contains("7 MiB free") && said.contains("may need 17 MiB: the reports of one stage"), "{said}");
}

#[test]
fn results_that_need_not_be_kept_are_left_out_where_there_is_no_room() {
    let folder = Folder::new();
    let optional = "  storage: {required: false}\n";
    folder.write("run.yaml", &(simulated(&profile(5, 1)) + optional));
    let Some(output) = run_on_a_small_disk(&folder, "8m") else { return };
    let (said, files) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("7 MiB free") && said.contains("because storage.required is false"), "{said}");
    assert!(files.contains("TTFT") && !files.contains("report.json"), "{files}");
    folder.write("run.yaml", &simulated(&profile(5, 1)));
    let output = run_on_a_small_disk(&folder, "32m").unwrap();
    let (said, files) = (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(files.contains("requests.parquet") && !said.contains("MiB free"), "{files} {said}");
}

#[test]
fn render_prints_the_profile_and_what_it_means() {
    let folder = Folder::new();
    folder.write("run.yaml", &format!("{HEAD}spec: {{target: {{simulator: {{}}}}}}\n"));
    folder
        .benchwright(&["render", "-f", "run.yaml", "-o", "load.stages.0.rate=3"])
        .assert()
        .success()
        .stdout(predicate::str::contains("rate: 3"));
    let workload = folder.benchwright(&["render", "-f", "run.yaml", "--workload"]).output().unwrap().stdout;
    let workload: workload_profiles::Workload = serde_json::from_slice(&workload).unwrap();
    assert_eq!(workload.stages[0].load.count(), Some(30));
}

#[test]
fn a_plan_is_made_of_loadgen_tests_alone() {
    let folder = Folder::new();
    folder.write("run.yaml", &simulated(&profile(20, 1)));
    let named = predicate::str::contains("spec.harness inference-perf, which has no LoadGen tests");
    folder.benchwright(&["plan", "-f", "run.yaml"]).assert().code(10).stdout("").stderr(named);
    folder.benchwright(&["plan", "-f", "run.yaml", "--queries", "many"]).assert().code(10);
}

#[test]
fn every_shipped_profile_renders() {
    use crds::benchmark_run::Harness;
    let folder = Folder::new();
    for harness in [Harness::Benchwright, Harness::InferencePerf, Harness::Loadgen] {
        for name in workload_profiles::shipped_names(harness) {
            let template = workload_profiles::shipped(harness, name).unwrap();
            let data = [("dataset_file", "/d/rows.json"), ("dataset_dir", "/d")].into_iter();
            let data = data.filter(|(variable, _)| template.contains(variable));
            let variables: Vec<String> = data.map(|(variable, path)| format!("{variable}: {path}")).collect();
            let profile = format!("{{name: {name}, variables: {{{}}}}}", variables.join(", "));
            let spec = format!("{{target: {{simulator: {{}}}}, harness: {}, profile: {profile}}}", harness.name());
            folder.write("run.yaml", &format!("{HEAD}spec: {spec}\n"));
            folder.benchwright(&["render", "-f", "run.yaml"]).assert().success();
        }
    }
}

#[test]
fn the_examples_render() {
    let folder = Folder::new();
    for (text, expected) in [
        (include_str!("../../examples/benchmarkrun.yaml"), "type: constant"),
        (include_str!("../../examples/loadgen.yaml"), "benchmark: llama3.1-8b"),
    ] {
        folder.write("run.yaml", text);
        folder.benchwright(&["render", "-f", "run.yaml"]).assert().success().stdout(predicate::str::contains(expected));
    }
}

#[test]
fn a_trace_is_read_from_its_file_and_a_wrong_line_is_named() {
    let folder = Folder::new();
    let profile = "requests: {random: {input: 9, output: 2}}\n\
        stages: [{load: {trace: {trace: {file: {path: t.csv, atColumn: at, inputColumn: in, outputColumn: out}}}}}]";
    folder.write("profile.yaml", profile);
    folder.write(
        "run.yaml",
        &format!("{HEAD}spec: {{target: {{simulator: {{preset: Instant}}}}, harness: benchwright, storage: {{none: {{}}}}}}\n"),
    );
    let run = ["run", "-f", "run.yaml", "--profile", "profile.yaml"];
    folder.write("t.csv", "at,in,out\n0,12,3\n40,13,4\n90,,\n");
    let lengths = predicate::str::is_match(r"ISL, tokens +\(?11\.33").unwrap();
    folder.benchwright(&run).assert().success().stdout(lengths);
    folder.write("t.csv", "at,in,out\n40,12,3\n0,13,4\n");
    let error = "t.csv, line 3: at is earlier than in a line above; sort the lines by time";
    folder.benchwright(&run).assert().code(10).stderr(predicate::str::contains(error));
}

#[test]
fn a_relative_path_counts_from_the_file_that_names_it_and_render_tells_of_it() {
    let folder = Folder::new();
    fs::create_dir(folder.path("sub")).unwrap();
    let stages = "stages: [{load: {trace: {trace: {file: {path: t.csv}}}}}]";
    let profile = format!("{{requests: {{random: {{input: 9, output: 2}}}}, {stages}}}");
    let spec = "target: {simulator: {preset: Instant}}, harness: benchwright, storage: {none: {}}";
    folder.write("sub/run.yaml", &format!("{HEAD}spec: {{{spec}, profile: {{inline: {profile:?}}}}}\n"));
    let path = folder.path("sub/t.csv");
    let missing = format!("cannot read the trace {}: No such file", path.display());
    let missing = || predicate::str::contains(missing.clone()).and(predicate::str::contains("spec.profile.files"));
    folder.benchwright(&["render", "-f", "sub/run.yaml"]).assert().success().stderr(missing());
    folder.benchwright(&["run", "-f", "sub/run.yaml"]).assert().code(10).stderr(missing());
    folder.write("sub/t.csv", "timestamp,input_length,output_length\n0,0,2\n20,5,2\n");
    let told = predicate::str::contains("1 rows of 2 with input_length 0, which is sent as 1");
    folder.benchwright(&["render", "-f", "sub/run.yaml"]).assert().success().stderr(told.clone());
    let told = told.and(predicate::str::contains("milliseconds"));
    folder.benchwright(&["run", "-f", "sub/run.yaml"]).assert().success().stderr(told);
}

#[test]
fn finished_loadgen_runs_become_a_tree_that_says_what_it_lacks() {
    let folder = Folder::new();
    let test = "scenario: Server\ntarget_qps: 400\nqsl: {total_sample_count: 50}\n\
        dataset: {synthetic: {input: 16, output: 4}}\nsampling: {ignoreEos: true}\n";
    let small = "settings: {min_duration: 100, min_query_count: 20, performance_sample_count_override: 50}";
    folder.write("both.yaml", &format!("benchmark: llama3.1-8b\n{test}mode: both\n{small}\n"));
    folder.write("audit.yaml", &format!("benchmark: llama3.1-8b\n{test}audit: TEST06\n"));
    folder
        .write("run.yaml", &format!("{HEAD}spec: {{target: {{simulator: {{preset: Instant}}}}, harness: loadgen}}\n"));
    for name in ["both", "audit"] {
        let profile = format!("{name}.yaml");
        folder.benchwright(&["run", "-f", "run.yaml", "--profile", &profile, "--results", name]).assert().success();
    }
    folder.benchwright(&["submission", "test06", "audit/latest"]).assert().success();
    assert!(folder.path("audit/latest/Performance/verify_accuracy.txt").exists());
    folder.write("h100x8.json", "{}");
    let build =
        ["submission", "--out", "tree", "--submitter", "Us", "--system", "h100x8.json", "both/latest", "audit/latest"];
    let missing = predicate::str::contains("missing: llama3.1-8b/Server: no accuracy scores");
    folder.benchwright(&build).assert().code(1).stderr(missing);
    assert!(!folder.path("tree").exists());
    folder.benchwright(&[&build[..], &["--incomplete"]].concat()).assert().code(1);
    let checked = folder.benchwright(&["submission", "check", "tree", "--json"]).assert().code(1);
    let report: serde_json::Value = serde_json::from_slice(&checked.get_output().stdout).unwrap();
    let rules: std::collections::BTreeSet<_> =
        report["findings"].as_array().unwrap().iter().map(|it| it["rule"].as_str().unwrap()).collect();
    let expected = [
        "accuracy-sample-count",
        "incomplete",
        "made-up-samples",
        "min-duration",
        "missing-file",
        "missing-scenario",
        "no-calibration",
        "performance-sample-count",
        "system-key",
    ];
    // Whether such a short test passes these three checks depends on how busy the machine is.
    let chance = ["validity", "early-stopping", "token-limits"];
    let found: Vec<_> = rules.into_iter().filter(|it| !chance.contains(it)).collect();
    assert_eq!(found, expected);
    let none = ["submission", "--out", "t", "--submitter", "Us", "--system", "h100x8.json", "--incomplete", "nowhere"];
    folder.benchwright(&none).assert().code(1).stderr(predicate::str::contains("no run has a finished test"));
    folder.benchwright(&["submission", "check", "both"]).assert().code(1).stdout(predicate::str::contains("[empty]"));
    folder.benchwright(&["submission", "check", "nowhere"]).assert().code(10);
}
