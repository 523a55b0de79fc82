//! `benchwright init` without a terminal: the file that it writes.

use super::*;
use crate::common::Sim;

const SHORT: [&str; 8] = ["--concurrency", "2", "--isl", "16", "--osl", "4", "--duration", "1s"];

#[test]
fn the_file_is_validated_and_run_as_it_is() {
    let folder = Folder::new();
    let objective = ["--objective", "errorRatio<=0.5"];
    let init = [&["init", "--simulator", "instant"], &SHORT[..], &objective].concat();
    let next = "benchmarkrun.yaml\n  benchwright validate -f benchmarkrun.yaml\n  benchwright run -f benchmarkrun.yaml\n  \
                kubectl apply -f benchmarkrun.yaml\n";
    folder.benchwright(&init).assert().success().stdout(next);
    let can_be_run = "benchmarkrun.yaml: concurrency-ramp: can be run\n";
    folder.benchwright(&["validate", "-f", "benchmarkrun.yaml"]).assert().success().stdout(can_be_run);
    folder.benchwright(&["run", "-f", "benchmarkrun.yaml"]).assert().success();
    let report = folder.report();
    assert!(report["summary"]["requests"].as_u64().is_some_and(|it| it > 0), "{report}");
}

#[test]
fn an_existing_file_stays_without_force() {
    let folder = Folder::new();
    folder.write("run.yaml", "mine");
    let init = ["init", "--simulator", "--output", "run.yaml"];
    let refused = folder.benchwright(&init).assert().code(10).stdout("");
    refused
        .stderr("benchwright: --output is run.yaml, which exists; add --force to replace it, or name another file\n");
    assert_eq!(fs::read_to_string(folder.path("run.yaml")).unwrap(), "mine");
    folder.benchwright(&[&init[..], &["--force"]].concat()).assert().success();
    assert!(fs::read_to_string(folder.path("run.yaml")).unwrap().contains("simulator: {preset: GPU}"));
}

#[test]
fn a_wrong_flag_writes_nothing() {
    let folder = Folder::new();
    let wrong = predicate::str::contains("--isl <TOKENS>").and(predicate::str::contains("whole number from 1"));
    folder.benchwright(&["init", "--isl", "0"]).assert().code(10).stderr(wrong);
    let goodput = ["init", "--objective", "goodputShare>=0.9"];
    folder.benchwright(&goodput).assert().code(10).stderr(predicate::str::contains("goodput"));
    assert_eq!(fs::read_dir(folder.path(".")).unwrap().count(), 0);
}

#[test]
fn the_model_is_the_one_that_the_server_lists() {
    let folder = Folder::new();
    let server = Sim::start(&["--model", "org/listed", "--preset", "instant"]);
    folder.benchwright(&["init", "-U", &server.url]).assert().success();
    let text = fs::read_to_string(folder.path("benchmarkrun.yaml")).unwrap();
    assert!(text.contains("    model: \"org/listed\"\n"), "{text}");
    drop(server);
    let gone = folder.benchwright(&["init", "-U", "http://127.0.0.1:1", "--force"]).assert().success();
    gone.stderr(predicate::str::contains("note: http://127.0.0.1:1 lists no models ("));
    let text = fs::read_to_string(folder.path("benchmarkrun.yaml")).unwrap();
    assert!(text.contains("    # model: NAME\n"), "{text}");
}
