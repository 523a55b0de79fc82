//! Runs with scored answers: answers to the rows of a data set, and to the samples of LoadGen tests.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
};

use predicates::prelude::*;
use serde_json::{Value, json};

use crate::common::{Folder, Sim, simulated};

/// Returns rows with distinct prompts and these expected answers.
fn rows(expected: &[&str]) -> String {
    let row = |(number, expected): (usize, &&str)| json!({"input": format!("question {number} of the test"), "output": expected});
    serde_json::to_string(&expected.iter().enumerate().map(row).collect::<Vec<_>>()).unwrap()
}

/// Writes a run in our own format that sends the rows. `accuracy` is the section of this name.
fn own_format(folder: &Folder, rows: &str, accuracy: &str) {
    let count = serde_json::from_str::<Vec<Value>>(rows).unwrap().len();
    folder.write("rows.json", rows);
    let profile = format!(
        "requests: {{dataSet: {{file: rows.json, row: {{prompt: input}}, output: 12}}}}\n\
         stages: [{{load: {{closed: {{concurrency: 2, count: {count}}}}}}}]\n\
         accuracy: {accuracy}\n"
    );
    folder.write("run.yaml", &simulated(&profile).replace("spec:\n", "spec:\n  seed: 42\n  harness: benchwright\n"));
}

fn run(folder: &Folder, code: i32) -> assert_cmd::assert::Assert {
    folder.benchwright(&["run", "--gate", "-f", "run.yaml"]).env_remove("PUNKT_DATA").assert().code(code)
}

fn text(folder: &Folder, file: &str) -> String {
    fs::read_to_string(folder.path("results/latest").join(file)).unwrap()
}

/// Returns the simulator's answers to some rows: a run without limits records the token ids, and a simulator converts these ids to text.
fn answers_of_simulator(count: usize) -> Vec<String> {
    let folder = Folder::new();
    own_format(&folder, &rows(&vec![""; count]), "{check: exactMatch, limits: none}");
    run(&folder, 0);
    let log: Vec<Value> = serde_json::from_str(&text(&folder, "mlperf_log_accuracy.json")).unwrap();
    let sim = Sim::start(&["--preset", "Tiny"]);
    let mut answers = vec![String::new(); count];
    for line in log {
        let hex = line["data"].as_str().unwrap();
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        let id = |at: usize| u32::from_le_bytes([byte(at), byte(at + 2), byte(at + 4), byte(at + 6)]);
        let ids: Vec<u32> = (0..hex.len()).step_by(8).map(id).collect();
        answers[line["qsl_idx"].as_u64().unwrap() as usize] = detokenized(&sim, &ids);
    }
    assert!(answers.iter().all(|it| it.split_whitespace().count() > 3), "{answers:?}");
    answers
}

fn detokenized(sim: &Sim, ids: &[u32]) -> String {
    let body = json!({"tokens": ids}).to_string();
    let host = sim.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let head =
        format!("POST /detokenize HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\nconnection: close");
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let answer: Value = serde_json::from_str(text.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    answer["prompt"].as_str().unwrap().to_owned()
}

#[test]
fn answers_are_scored_against_their_rows_and_held_against_limits() {
    let mut answers = answers_of_simulator(8);
    answers[5] = "another answer".into();
    let expected: Vec<&str> = answers.iter().map(String::as_str).collect();
    let folder = Folder::new();
    // Seven of eight answers are correct: 87.5 %.
    for (bound, code, outcome, verdict) in [(87.0, 0, "Passed", "Passed"), (88.0, 2, "Invalid", "Failed")] {
        let accuracy = format!("{{check: exactMatch, limits: {{atLeast: {{exact_match: {bound}}}}}}}");
        own_format(&folder, &rows(&expected), &accuracy);
        let printed = run(&folder, code);
        printed.stdout(predicate::str::contains(format!("check exactMatch: {verdict}; 8 answers scored")));
        let report = folder.report();
        let found = &report["accuracy"];
        assert_eq!((&report["outcome"], &found["verdict"]), (&outcome.into(), &verdict.into()), "{found}");
        assert_eq!(found["figures"][0], json!({"name": "exact_match", "value": 87.5, "text": "87.5"}));
        assert_eq!(found["limits"][0]["met"], verdict == "Passed");
    }
    let reason = &folder.report()["reasons"][0];
    assert_eq!(reason["reason"], "AccuracyMissed");
    assert!(reason["message"].as_str().unwrap().contains("exact_match is 87.5, and must be at least 88;"), "{reason}");
    let markdown = text(&folder, "report.md");
    assert!(
        markdown.contains("## Accuracy\n") && markdown.contains("| exact_match | 87.5 | at least 88 | missed |"),
        "{markdown}"
    );
    let samples = text(&folder, "accuracy_samples.jsonl");
    let wrong: Vec<Value> = samples
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .filter(|it: &Value| it["correct"] == false)
        .collect();
    assert_eq!((wrong.len(), &wrong[0]["qsl_idx"]), (1, &5.into()));
    assert!(text(&folder, "accuracy.txt").contains("{'exact_match': 87.5, 'gen_num': 8, 'gen_tok_len': "));
}

#[test]
fn a_loadgen_test_with_the_mode_accuracy_is_scored_by_its_benchmark() {
    let answers = answers_of_simulator(3);
    let expected: Vec<&str> = answers.iter().map(String::as_str).collect();
    let folder = Folder::new();
    folder.write("rows.json", &rows(&expected));
    let profile = "benchmark: llama3.1-8b\nscenario: Offline\nmode: both\ntarget_qps: 100\nqsl: {total_sample_count: 3}\n\
         tokens: {max: 12}\nsettings: {min_duration: 10, min_query_count: 1}\n\
         dataset: {file: {path: rows.json, column: input, form: text}}\n";
    let write = |more: &str| {
        folder.write(
            "run.yaml",
            &simulated(&format!("{profile}{more}")).replace("spec:\n", "spec:\n  seed: 42\n  harness: loadgen\n"),
        );
    };
    write("");
    run(&folder, 0);
    let report = folder.report();
    let found = &report["accuracy"];
    // Three of 13,368 samples are too few for a verdict.
    assert_eq!(
        (&found["verdict"], &found["wanted"], &found["scored"]),
        (&"NotJudged".into(), &13_368.into(), &3.into())
    );
    assert_eq!(found["figures"][0]["name"], "rouge1");
    assert_eq!((&found["figures"][0]["value"], &found["limits"][0]["met"]), (&100.0.into(), &Value::Null));
    assert_eq!(found["notComputed"][0]["figure"], "rougeLsum");
    let accuracy = text(&folder, "Accuracy/accuracy.txt");
    let log = fs::read(folder.path("results/latest/Accuracy/mlperf_log_accuracy.json")).unwrap();
    assert!(accuracy.contains(&format!("hash={}\n", sha256(&log))), "{accuracy}");
    write("accuracy: none\n");
    run(&folder, 0);
    assert_eq!(folder.report()["accuracy"], Value::Null);
    // A data set without expected answers does not fail the run, unless the profile requests scoring.
    folder.write("rows.json", &rows(&expected).replace("output", "other"));
    write("");
    run(&folder, 0)
        .stderr(predicate::str::contains("row 0, counted from 0: has no column output; it has input, other"));
    write("accuracy: {}\n");
    run(&folder, 3)
        .stderr(predicate::str::contains("row 0, counted from 0: has no column output; it has input, other"));
    write("accuracy: {expected: other, limits: {atLeast: {rouge1: 99.5}}}\n");
    run(&folder, 0);
    assert_eq!(folder.report()["accuracy"]["verdict"], "Passed");
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    crds::hex(&sha2::Sha256::digest(bytes))
}

#[test]
fn what_cannot_be_scored_is_refused_before_the_load() {
    let folder = Folder::new();
    for (accuracy, part) in [
        ("{check: bleu}", "accuracy.check: is \"bleu\"; choose one of llama3.1-8b, "),
        ("{}", "accuracy.check: is missing"),
        ("{check: rouge, limits: {atLeast: {rouge3: 1}}}", "accuracy.limits.atLeast.rouge3"),
        ("{check: rouge, limits: {atLeast: {rouge1: 101}}}", "accuracy.limits.atLeast.rouge1: is 101"),
        (
            "{check: exactMatch, limits: {atLeast: {rouge1: 38}}}",
            "accuracy.limits.atLeast.rouge1: is a figure that the check exactMatch does not compute; bound one of exact_match",
        ),
        ("{check: rouge, expected: nothing}", "row 0, counted from 0: has no column nothing; it has input, output"),
        ("{check: rouge, tokenizer: /none}", "cannot read the tokenizer /none"),
        ("{check: rouge, punkt: /none}", "cannot use the folder /none of accuracy.punkt"),
        ("{check: rouge, dataSet: /none}", "cannot read the data set /none"),
    ] {
        own_format(&folder, &rows(&["a"]), accuracy);
        run(&folder, 3).stderr(predicate::str::contains(part));
        assert!(!folder.path("results/latest").exists(), "{accuracy}");
    }
    let synthetic =
        simulated("requests: mock\nstages: [{load: {closed: {concurrency: 1, count: 1}}}]\naccuracy: {check: rouge}\n");
    folder.write("run.yaml", &synthetic.replace("spec:\n", "spec:\n  harness: benchwright\n"));
    run(&folder, 3).stderr(predicate::str::contains("needs expected answers, but the requests are no data set"));
}
