//! `harness: mmlu` against the embedded simulator, and against a server that sends no log probabilities.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    cli::prompts::Recorder,
    common::{Folder, at, simulated},
};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data-sets/tests/fixtures/dataset-fixtures/mmlu").join(name)
}

/// Converts a run file to one for a profile with questions.
fn of_questions(run: &str) -> String {
    run.replace("spec:\n", "spec:\n  seed: 42\n  harness: mmlu\n")
}

fn json_of(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.path(&format!("results/latest/{name}"))).unwrap()).unwrap()
}

/// Parses the records of a CSV file (RFC 4180).
fn csv(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(it) = chars.next() {
        match it {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            '\r' if !quoted => {}
            it => field.push(it),
        }
    }
    records
}

/// Returns the number of correct answers and of all answers for each value in a column of samples.csv.
fn counts(samples: &[Vec<String>], column: usize) -> BTreeMap<String, (u64, u64)> {
    let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for sample in samples {
        let of = counts.entry(sample[column].clone()).or_default();
        // Column 3 contains the correct letter, and column 4 the model's letter.
        of.0 += u64::from(sample[3] == sample[4]);
        of.1 += 1;
    }
    counts
}

/// Checks that the scores in the files match scores that are computed again from samples.csv. Returns the records of samples.csv.
fn assert_scores_are_those_of_the_samples(folder: &Folder) -> Vec<Vec<String>> {
    let mut samples = csv(&fs::read_to_string(folder.path("results/latest/samples.csv")).unwrap());
    let header = samples.remove(0).join(",");
    assert_eq!(header, "index,subject,domain,answer,pred,correct,latency_ms,prompt_tokens,output_tokens,output");
    for (column, name) in [(1, "subject"), (2, "domain")] {
        let counts = counts(&samples, column);
        let share = |(correct, total): (u64, u64)| correct as f64 / total as f64;
        let plain: Value = counts.iter().map(|(name, it)| (name.clone(), json!(share(*it)))).collect();
        assert_eq!(json_of(folder, &format!("by_{name}.json")), plain);
        let detail = |it: (u64, u64)| json!({"correct": it.0, "total": it.1, "accuracy": share(it)});
        let detail: Value = counts.iter().map(|(name, it)| (name.clone(), detail(*it))).collect();
        assert_eq!(json_of(folder, &format!("by_{name}_detail.json")), detail);
    }
    let correct = samples.iter().filter(|it| it[3] == it[4]).count();
    assert_eq!(correct, samples.iter().filter(|it| it[5] == "1").count());
    let overall = json_of(folder, "overall.json");
    assert_eq!(overall["overall_accuracy"], json!(correct as f64 / samples.len() as f64));
    assert_eq!((&overall["correct"], &overall["total"]), (&json!(correct), &json!(samples.len())));
    assert_eq!(overall["unanswered"], json!(samples.iter().filter(|it| it[4].is_empty()).count()));
    samples
}

#[test]
fn the_scores_of_a_run_are_those_of_its_samples() {
    let folder = Folder::new();
    let profile = format!("{{data: {}, shots: 5, concurrency: 4}}", fixture("hendrycks").display());
    folder.write("run.yaml", &of_questions(&simulated(&profile)));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let samples = assert_scores_are_those_of_the_samples(&folder);
    assert_eq!(samples.len(), 18);
    let expected: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(fixture("expected_test.json")).unwrap()).unwrap();
    for sample in &samples {
        // The simulated server answers with a single letter, which is also its likeliest first token.
        assert_eq!(sample[4], sample[9].trim());
        assert!(["A", "B", "C", "D"].contains(&sample[4].as_str()), "{sample:?}");
        assert!(sample[6].parse::<f64>().unwrap() > 0.0 && sample[7].parse::<u64>().unwrap() > 50);
        assert_eq!(sample[8], "1");
        let golds: Vec<usize> = expected
            .iter()
            .filter(|it| it["subject"] == sample[1].as_str())
            .map(|it| it["answer"].as_u64().unwrap() as usize)
            .collect();
        let gold = "ABCD".find(&sample[3]).unwrap();
        assert!(golds.contains(&gold), "{sample:?}");
    }
    let overall = json_of(&folder, "overall.json");
    let settings = ["format", "shots", "scoring", "categories", "split"].map(|it| overall[it].clone());
    assert_eq!(settings, [json!("original"), json!(5), json!("log-probabilities"), json!("original"), json!("test")]);
    let report = folder.report();
    let accuracy = &report["accuracy"];
    assert_eq!((&accuracy["check"], &accuracy["verdict"]), (&json!("mmlu"), &json!("NotJudged")));
    assert_eq!(accuracy["figures"][0]["value"], overall["overall_accuracy"]);
    // The latency figures are next to the scores. Their load has as many requests as there are questions.
    assert_eq!(report["workload"]["stages"][0]["load"]["closed"]["count"], json!(18));
    let picture = fs::read_to_string(folder.path("results/latest/plots/score_by_subject.svg")).unwrap();
    assert!(picture.contains(">abstract algebra</text>") && picture.contains(">professional law</text>"));
    let markdown = fs::read_to_string(folder.path("results/latest/report.md")).unwrap();
    assert!(markdown.contains("overall_accuracy"), "{markdown}");
}

#[test]
fn a_chat_is_scored_by_its_text_and_a_limit_is_shared_out() {
    let folder = Folder::new();
    let data = fixture("flat.jsonl");
    let settings = "format: chat, scoring: text, shots: 0, totalLimit: 8, domains: lm-eval";
    folder.write("run.yaml", &of_questions(&simulated(&format!("{{data: {}, {settings}}}", data.display()))));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let samples = assert_scores_are_those_of_the_samples(&folder);
    let shares: Vec<u64> = counts(&samples, 1).values().map(|it| it.1).collect();
    assert_eq!(shares, [2, 2, 1, 1, 1, 1]);
    assert!(samples.iter().all(|it| it[1] != "anatomy" || it[2] == "STEM"));
    assert_eq!(json_of(&folder, "overall.json")["instruction"], "Reply with the letter only.");
    // In a second run, the same questions get the same answers.
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let letters = |all: &[Vec<String>]| all.iter().map(|it| it[4].clone()).collect::<Vec<_>>();
    assert_eq!(letters(&assert_scores_are_those_of_the_samples(&folder)), letters(&samples));
}

#[test]
fn a_limit_that_is_missed_is_no_pass() {
    let folder = Folder::new();
    let profile = format!("{{data: {}, shots: 0, minAccuracy: 1}}", fixture("flat_columns.csv").display());
    folder.write("run.yaml", &of_questions(&simulated(&profile)));
    folder.benchwright(&["run", "-f", "run.yaml", "--gate"]).assert().code(2);
    let accuracy = &folder.report()["accuracy"];
    assert_eq!((&accuracy["verdict"], &accuracy["limits"][0]["met"]), (&json!("Failed"), &json!(false)));
}

#[test]
fn a_server_without_log_probabilities_is_told_apart_from_a_bad_model() {
    let server = Recorder::start();
    let folder = Folder::new();
    let profile = format!("{{data: {}, shots: 0, totalLimit: 6}}", fixture("flat.jsonl").display());
    folder.write("run.yaml", &of_questions(&at(&server.url, 20, &profile)));
    folder.benchwright(&["run", "-f", "run.yaml"]).assert().success();
    let prompts = server.take();
    assert_eq!(prompts.len(), 6);
    assert!(
        prompts.iter().all(|it| it.starts_with("The following are multiple choice questions (with answers) about  "))
    );
    assert_eq!(json_of(&folder, "overall.json")["overall_accuracy"], Value::Null);
    let reason = &folder.report()["accuracy"]["notComputed"][0]["reason"];
    let expected = "no answer has log probabilities: the server does not send them; set scoring to text in the profile";
    assert_eq!(reason, expected);
}

#[test]
fn questions_that_cannot_be_asked_end_the_run_before_it_begins() {
    let check = |keys: &str, expected: &str| {
        let folder = Folder::new();
        folder.write("empty.csv", "");
        folder.write(
            "bad.jsonl",
            r#"{"question": "q", "subject": "law", "choices": ["a", "b", "c", "d"], "answer": "E"}"#,
        );
        folder.write("run.yaml", &of_questions(&simulated(keys)));
        let done = folder.command(&["run", "-f", "run.yaml"]).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(10) && said.contains(expected), "{keys}: {:?} {said}", done.status);
        assert!(!folder.path("results/latest").exists());
    };
    let flat = fixture("flat.jsonl").display().to_string();
    check(&format!("{{data: {flat}, shots: 0, subjects: [alchemy]}}"), "subjects has alchemy, of which ");
    check(&format!("{{data: {flat}}}"), "shots is 5, and ");
    check(
        &format!("{{data: {}, split: validation}}", fixture("hf_all").display()),
        "has no questions of the split validation",
    );
    check("{data: empty.csv, shots: 0}", "empty.csv has no question; give a file with questions");
    check(
        "{data: bad.jsonl, shots: 0}",
        "line 1: answer is \"E\"; write a number from 0 to 3, or a letter from A to D",
    );
    check("{data: none, shots: 0}", "cannot read the questions of ");
}
