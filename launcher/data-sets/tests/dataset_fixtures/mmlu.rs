//! Tests reading MMLU's questions from files with named columns.

use std::path::Path;

use data_sets::columns::read_columns;
use serde_json::{Value, json};

use super::{assert_equal, folder, json as json_of, say};

/// Reads the questions of a file in the format of the fixtures: with four choices, and the index of the right one.
fn questions(path: &Path) -> Vec<Value> {
    let names = ["question", "subject", "choices", "answer", "A", "B", "C", "D"];
    let wanted: Vec<&[&str]> = names.iter().map(std::slice::from_ref).collect();
    let mut questions = Vec::new();
    let read = read_columns(path, &wanted, |row| {
        let mut value = |place: usize| row.values[place].take().map_or(Value::Null, |it| it.1);
        let [question, subject, choices, answer] = [0, 1, 2, 3].map(&mut value);
        let choices = if choices.is_null() { Value::from([4, 5, 6, 7].map(&mut value).to_vec()) } else { choices };
        let answer = match answer.as_str() {
            Some(letter) => json!("ABCD".find(letter).unwrap()),
            None => answer,
        };
        questions.push(json!({"question": question, "subject": subject, "choices": choices, "answer": answer}));
        Ok(())
    });
    read.unwrap_or_else(|error| panic!("{error}"));
    questions
}

#[test]
fn questions_are_the_same_in_every_file() {
    let mmlu = folder().join("mmlu");
    let mut compared = 0;
    for (name, expected, subject) in [
        ("hf_all/all/test-00000-of-00001.parquet", "expected_test.json", None),
        ("hf_all/all/dev-00000-of-00001.parquet", "expected_dev.json", None),
        ("hf_per_subject/anatomy/test-00000-of-00001.parquet", "expected_test.json", Some("anatomy")),
        ("hf_per_subject/abstract_algebra/test-00000-of-00001.parquet", "expected_test.json", Some("abstract_algebra")),
        ("flat.jsonl", "expected_test.json", None),
        ("flat_columns.csv", "expected_test.json", None),
    ] {
        let path = mmlu.join(name);
        if !path.exists() {
            say(&format!("NOT COMPARED: mmlu/{name}"));
            continue;
        }
        let mut expected = json_of(&mmlu.join(expected));
        if let Some(subject) = subject {
            expected.as_array_mut().unwrap().retain(|it| it["subject"] == subject);
        }
        assert_equal(&Value::from(questions(&path)), &expected, name);
        compared += 1;
    }
    say(&format!("mmlu: {compared} files compared"));
    say("NOT COMPARED: mmlu/hendrycks, whose files name no columns and are no data set of prompts");
}
