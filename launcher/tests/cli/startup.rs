//! `benchwright startup` on logs of real servers, on composed logs, and on files that are no logs.

use std::{fs, path::Path};

use predicates::{prelude::PredicateBooleanExt as _, str::contains};
use serde_json::Value;

use crate::common::Folder;

fn log(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("startup/tests/logs");
    folder.join(format!("{name}.log")).to_str().unwrap().to_owned()
}

/// Returns the output of the command for these arguments. The command must succeed.
fn printed(folder: &Folder, arguments: &[&str]) -> String {
    let all = [&["startup", "--time-zone", "UTC", "--at", "2026-12-01T00:00:00Z"], arguments].concat();
    let done = folder.benchwright(&all).assert().success().get_output().stdout.clone();
    String::from_utf8(done).unwrap()
}

#[test]
fn starts_stand_side_by_side_with_a_picture() {
    let folder = Folder::new();
    let (cold, second) = (log("vllm-0.32.0-cold-compile-info"), log("vllm-0.32.0-compile-second-start-info"));
    let gpu = log("composed-vllm-0.10-gpu-debug");
    let said =
        printed(&folder, &["-o", "out", &format!("cpu={cold}"), &format!("cpu={second}"), &format!("gpu={gpu}")]);
    for line in ["65.5 s (61 to 70)", "105 s", "Worker Initialization", "0.41 s"] {
        assert!(said.contains(line), "no {line:?} in\n{said}");
    }
    let document: Value = serde_json::from_slice(&fs::read(folder.path("out/startup.json")).unwrap()).unwrap();
    assert_eq!(document["starts"][1]["startup"]["readySeconds"], 61.0);
    assert_eq!(document["starts"][2]["name"], "gpu");
    let svg = fs::read_to_string(folder.path("out/startup.svg")).unwrap();
    assert!(svg.contains(">cpu, mean of 2</text>") && svg.contains(">Model Loading</text>"), "{svg}");
    assert!(fs::read(folder.path("out/startup.png")).unwrap().starts_with(b"\x89PNG"));
    let page = fs::read_to_string(folder.path("out/startup.md")).unwrap();
    assert!(
        page.contains("| | cpu | gpu |\n") && page.contains("| start to ready | 65.5 s (61 to 70) | 105 s |"),
        "{page}"
    );
    let yaml = fs::read_to_string(folder.path("out/result.yaml")).unwrap();
    assert!(yaml.contains("- name: cpu 2\n") && yaml.contains("- name: gpu\n"), "{yaml}");
    assert!(yaml.contains("vllm_metrics:") && yaml.contains("title: Pytorch Compilation"), "{yaml}");
}

#[test]
fn every_format_is_printed() {
    let folder = Folder::new();
    let failed = log("vllm-0.32.0-failed-start-bad-block-size");
    assert!(printed(&folder, &[&failed]).contains("ValueError: No common block size for 16"));
    let json: Value = serde_json::from_str(&printed(&folder, &["--format", "json", &failed])).unwrap();
    assert_eq!(json["starts"][0]["startup"]["failure"]["line"], 76);
    assert!(printed(&folder, &["--format", "yaml", &failed]).contains("outcome: failed"));
    let yaml = printed(&folder, &["--format", "result.yaml", &failed]);
    assert!(yaml.contains("vllm_start_timestamp: 1795228432") && !yaml.contains("vllm_ready_timestamp"), "{yaml}");
}

#[test]
fn the_zone_of_the_server_moves_its_times() {
    let folder = Folder::new();
    let cold = log("vllm-0.32.0-cold-compile-info");
    let arguments =
        ["startup", "--format", "json", "--time-zone", "Europe/Vienna", "--at", "2026-12-01T00:00:00Z", &cold];
    folder.benchwright(&arguments).assert().success().stdout(contains("\"started\": \"2026-11-21T01:08:51Z\""));
}

#[test]
fn what_cannot_be_read_says_what_to_do() {
    let folder = Folder::new();
    let say = |arguments: &[&str], words: &str| {
        let all = [&["startup"], arguments].concat();
        folder.benchwright(&all).assert().code(10).stderr(contains(words.to_owned()).and(contains("panicked").not()));
    };
    say(&["missing.log"], "cannot read missing.log; give the log of a server, as FILE or NAME=FILE");
    say(&["/dev/zero"], "it is a character device; give a file or a pipe");
    say(&["."], "it is a folder");
    say(&["--time-zone", "Mars", "a"], "no such time zone; give a name such as UTC");
    for time in ["yesterday", "2026-11-21T03:00:00"] {
        say(&["--at", time, "a"], "this is no time with a zone; write it as 2026-11-21T02:10:00Z");
    }
    say(&[], "required");
}

#[test]
fn a_run_without_load_needs_a_server_that_it_starts() {
    let folder = Folder::new();
    let head = "apiVersion: benchwright.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: nop}\n";
    folder.write("run.yaml", &format!("{head}spec: {{target: {{url: 'http://localhost:1'}}, harness: nop}}\n"));
    for command in [["run", "-f", "run.yaml"].as_slice(), &["validate", "run.yaml"]] {
        let refused = folder.benchwright(command).assert().code(10);
        refused.stderr(
            contains("spec.harness").and(contains("set spec.target.server")).and(contains("benchwright startup FILE")),
        );
    }
    assert!(!folder.path("results").exists());
}

#[test]
fn a_file_that_is_no_log_has_no_values_and_is_named() {
    let folder = Folder::new();
    fs::write(folder.path("noise.log"), (0..=255_u8).cycle().take(100_000).collect::<Vec<u8>>()).unwrap();
    folder.write("a=b.log", "");
    let unknown = |name: &str| contains(format!("{name}: has no known log line of vLLM or SGLang; give all output"));
    let none = folder.benchwright(&["startup", "noise.log", "a=b.log"]).assert().code(10);
    none.stdout(contains("unfinished")).stderr(unknown("noise.log").and(unknown("a=b.log")));
    let cold = log("vllm-0.32.0-cold-compile-info");
    let one = folder.benchwright(&["startup", "noise.log", &cold]).assert().success();
    one.stdout(contains("70 s")).stderr(unknown("noise.log").and(unknown("cold").not()));
}

#[test]
fn a_file_without_a_name_has_its_own() {
    let folder = Folder::new();
    let cold = fs::read_to_string(log("vllm-0.32.0-cold-compile-info")).unwrap();
    for path in ["one/x.log", "two/x.log", "two/y.log"] {
        fs::create_dir_all(folder.path(path).parent().unwrap()).unwrap();
        folder.write(path, &cold);
    }
    let paths = ["one/x.log", "two/x.log", "two/y.log"].map(|it| folder.path(it).display().to_string());
    let names = |arguments: &[&str]| {
        let all = [&["--format", "json"], arguments].concat();
        let document: Value = serde_json::from_str(&printed(&folder, &all)).unwrap();
        let starts = document["starts"].as_array().unwrap().clone();
        starts.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[&paths[0]]), ["x"]);
    assert_eq!(names(&[&paths[0], &paths[0]]), ["x", "x"], "one file is one column");
    assert_eq!(names(&[&paths[0], &paths[1], &paths[2]]), ["one/x", "two/x", "y"]);
    assert_eq!(names(&[&format!("x={}", paths[0]), &paths[1]]), ["x", "two/x"]);
    assert_eq!(names(&["one/x.log", &format!("x={}", paths[1])]), ["one/x", "x"]);
}
