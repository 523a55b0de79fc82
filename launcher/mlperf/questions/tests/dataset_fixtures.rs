//! Reads MMLU in five formats, and compares the selected questions.
//!
//! `DATASET_FIXTURES=DIR cargo test -p questions --test dataset_fixtures` compares with the files in DIR instead of the project's own. DIR must have
//! the same layout. In both cases, the test prints to stderr how many questions it compared.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use accuracy::mmlu::{Format, LETTERS, Question, prompt};
use questions::QuestionSet;
use serde_json::{Value, json};
use workload_profiles::Workload;

/// Returns the folder that contains the fixtures.
fn fixtures() -> PathBuf {
    let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    match env::var_os("DATASET_FIXTURES").map(PathBuf::from) {
        None => package.join("../../data-sets/tests/fixtures/dataset-fixtures"),
        // A relative path is meant from the root of the project, but a test runs in the folder of its package.
        Some(given) if given.exists() => given,
        Some(given) => package.join("../../..").join(given),
    }
}

/// Writes directly to stderr, because the test harness hides the output of passing tests.
fn say(text: &str) {
    writeln!(io::stderr().lock(), "{text}").unwrap();
}

fn read(data: &Path, split: &str, shots: u32) -> Result<QuestionSet, String> {
    let workload: Workload = serde_json::from_value(json!({
        "api": "OpenAICompletions", "streaming": true, "stages": [],
        "requests": {"questions": {"data": data, "split": split, "shots": shots, "format": "harness", "scoring": "text",
            "maxTokens": 1, "domains": "original", "details": true}},
    }))
    .unwrap();
    questions::read(&workload).map(|it| it.set.unwrap()).map_err(|it| it.to_string())
}

/// Returns the expected questions in a file, each with its subject.
fn expected(name: &str) -> Vec<(String, Question)> {
    let text = fs::read_to_string(fixtures().join("mmlu").join(name)).unwrap();
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    let row = |it: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let choices: Vec<String> = it["choices"].as_array().unwrap().iter().map(text).collect();
        let answer = it["answer"].as_u64().unwrap() as usize;
        let question = Question { text: text(&it["question"]), choices: choices.try_into().unwrap(), answer };
        (text(&it["subject"]), question)
    };
    rows.iter().map(row).collect()
}

/// Checks that the questions read from `data` equal the expected ones, and that they have the expected examples.
fn assert_same(data: &Path, split: &str, shots: u32, expected: &[(String, Question)]) {
    let set = read(data, split, shots).unwrap();
    let dev: BTreeMap<String, Vec<Question>> =
        self::expected("expected_dev.json").into_iter().fold(BTreeMap::new(), |mut all, (subject, question)| {
            all.entry(subject).or_default().push(question);
            all
        });
    let subjects: Vec<&str> = set.subjects().collect();
    let mut wanted: Vec<&(String, Question)> =
        expected.iter().filter(|(subject, _)| subjects.contains(&subject.as_str())).collect();
    // In the authors' archive, the subjects are sorted by name.
    wanted.sort_by_key(|(subject, _)| subjects.iter().position(|it| it == subject));
    assert_eq!(set.len(), wanted.len() as u64, "{}", data.display());
    for (place, (asked, (subject, question))) in set.asked().zip(wanted).enumerate() {
        let examples = &dev[subject][..shots as usize];
        assert_eq!((asked.index, asked.subject), (place as u64, subject.as_str()));
        assert_eq!(asked.gold, LETTERS[question.answer]);
        let wanted = prompt(Format::Harness, subject, examples, question);
        assert_eq!(set.prompt(place as u64), wanted, "{}, question {place}", data.display());
    }
}

#[test]
fn every_form_of_mmlu_has_the_same_questions() {
    let folder = fixtures().join("mmlu");
    if !folder.is_dir() {
        return say("mmlu, questions: no folder of this name; nothing was compared");
    }
    let (test, dev) = (expected("expected_test.json"), expected("expected_dev.json"));
    let mut compared = 0;
    for (form, shots) in
        [("hf_all", 5), ("hf_per_subject", 0), ("hendrycks", 5), ("flat.jsonl", 0), ("flat_columns.csv", 0)]
    {
        let data = folder.join(form);
        assert_same(&data, "test", shots, &test);
        compared += read(&data, "test", 0).unwrap().len();
        if shots > 0 {
            assert_same(&data, "dev", 0, &dev);
            compared += dev.len() as u64;
        }
    }
    say(&format!("mmlu, questions: {compared} questions in five forms"));
}

#[test]
fn an_answer_may_be_written_in_three_ways() {
    let test = expected("expected_test.json");
    let folder = tempfile::tempdir().unwrap();
    for (name, answer) in [
        ("number", (|it| json!(it)) as fn(usize) -> Value),
        ("text", |it| json!(it.to_string())),
        ("letter", |it| json!(LETTERS[it].to_string())),
    ] {
        let lines = test.iter().map(|(subject, it)| {
            json!({"question": it.text, "subject": subject, "choices": it.choices, "answer": answer(it.answer)})
                .to_string()
        });
        let path = folder.path().join(name);
        fs::write(&path, lines.collect::<Vec<_>>().join("\n")).unwrap();
        assert_same(&path, "test", 0, &test);
    }
}
