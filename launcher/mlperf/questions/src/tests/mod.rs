use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use workload_profiles::workload::FileSource;

use super::*;

/// The folder with fixtures in the formats of MMLU.
fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data-sets/tests/fixtures")
}

fn workload(data: &Path, settings: &Value) -> Workload {
    let mut questions = json!({"data": data, "split": "test", "shots": 0, "format": "original", "scoring": "text",
        "maxTokens": 1, "domains": "original", "details": true});
    for (name, value) in settings.as_object().into_iter().flatten() {
        questions[name] = value.clone();
    }
    let source =
        json!({"api": "OpenAICompletions", "streaming": true, "stages": [], "requests": {"questions": questions}});
    serde_json::from_value(source).unwrap()
}

fn read_with(data: &Path, settings: &Value) -> Result<QuestionSet, String> {
    read(&workload(data, settings)).map(|it| it.set.unwrap()).map_err(|it| it.to_string())
}

/// Returns the positions, subjects and correct letters of the selected questions.
fn asked(set: &QuestionSet) -> Vec<(u64, String, char)> {
    set.asked().map(|it| (it.index, it.subject.to_owned(), it.gold)).collect()
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Reads a text as a file of questions, and compares the questions, or the error message without the path.
fn check_file(name: &str, text: &str, expected: Result<&[(u64, &str, char)], &str>) {
    let folder = folder(&[(name, text)]);
    let path = folder.path().join(name);
    let read = read_with(&path, &Value::Null).map(|it| asked(&it));
    let read = read.map_err(|it| it.replace(&path.display().to_string(), "FILE"));
    let expected = expected.map(|it| it.iter().map(|(at, name, gold)| (*at, (*name).to_owned(), *gold)).collect());
    assert_eq!(read, expected.map_err(str::to_owned), "{text}");
}

#[test]
fn an_answer_is_a_number_or_its_text_or_a_letter() {
    let line = |answer: &str| {
        format!(
            "{{\"question\": \"q\", \"subject\": \"anatomy\", \"choices\": [\"a\", 5, \"c\", \"d\"], \"answer\": {answer}}}\n"
        )
    };
    for (answer, gold) in [("0", 'A'), ("3", 'D'), ("2.0", 'C'), ("\"1\"", 'B'), ("\" b \"", 'B'), ("\"D\"", 'D')] {
        check_file("q.jsonl", &line(answer), Ok(&[(0, "anatomy", gold)]));
    }
    for answer in ["4", "-1", "1.5", "\"E\"", "\"\"", "null", "[0]", "true"] {
        let what = format!(
            "the questions of FILE, line 1: answer is {answer}; write a number from 0 to 3, or a letter from A to D"
        );
        check_file("q.jsonl", &line(answer), Err(&what));
    }
}

#[test]
fn rows_that_are_no_questions_are_named() {
    let check = |row: Value, expected: &str| {
        let text = format!("[{row}]");
        check_file("q.json", &text, Err(&format!("the questions of FILE, question 0, counted from 0: {expected}")));
    };
    check(json!({"subject": "law"}), "has no question; it has subject");
    check(json!({"question": 5}), "question is 5; write a text");
    check(json!({"question": "q"}), "has no choices, and no A, B, C and D; write four texts");
    check(json!({"question": "q", "choices": ["a", "b"]}), "choices has 2 values; write four texts");
    check(
        json!({"question": "q", "choices": ["a", "b", [], "d"]}),
        "choices has 3 texts among its 4 values; write four texts",
    );
    check(json!({"question": "q", "choices": "a, b"}), "choices is a text that is no JSON list; write four texts");
    check(json!({"question": "q", "choices": ["a", "b", "c", "d"]}), "has no answer; write a letter from A to D");
    let without_subject = json!({"question": "q", "choices": ["a", "b", "c", "d"], "answer": "A"});
    check(
        without_subject,
        "has no subject; write it into each question, or name the file as MMLU's authors do, anatomy_test.csv, in a folder test",
    );
    check(json!(5), "is no object; write one for each question");
    let long = "x".repeat(100);
    check(json!({"question": {"a": long}}), &format!("question is {{\"a\":\"{}...; write a text", "x".repeat(34)));
}

#[test]
fn the_content_says_the_format_and_not_the_name() {
    let row = json!({"Question": "q", "Subject": "law", "A": "1", "B": "2", "C": "3", "D": "4", "Answer": "B"});
    let expected: &[(u64, &str, char)] = &[(0, "law", 'B')];
    check_file("q.csv", &format!("\u{feff} [{row}]"), Ok(expected));
    check_file("q.csv", &format!("\n{row}\r\n\n"), Ok(expected));
    check_file("q.json", "\u{feff}subject,question,A,B,C,D,answer\r\nlaw,q,1,2,3,4,1\r\n", Ok(expected));
    check_file(
        "q",
        "question,choices,answer,subject\nq,\"[\"\"1\"\", \"\"2\"\", \"\"3\"\", \"\"4\"\"]\",b,law\n",
        Ok(expected),
    );
    check_file("q.csv", "", Err("FILE has no question; give a file with questions, or the folder of MMLU"));
    check_file(
        "q.csv",
        "question,A,B,C,D,answer\n",
        Err("FILE has no question; give a file with questions, or the folder of MMLU"),
    );
    check_file("q.json", "[]", Err("FILE has no question; give a file with questions, or the folder of MMLU"));
    check_file(
        "q.csv",
        "q,a,b,c,A\n",
        Err(
            "the questions of FILE, line 1: has 5 values; write a question, four choices and a letter, or a first line with the names subject, question, A, B, C, D and answer",
        ),
    );
    check_file(
        "q.jsonl",
        "{\"question\": \n",
        Err("the questions of FILE, line 1: is no JSON object; write one on each line"),
    );
    check_file(
        "q.json",
        "[{]",
        Err(
            "the questions of FILE, line 1 column 3: is no JSON array of objects; write one, or an object on each line",
        ),
    );
    let bad = tempfile::tempdir().unwrap();
    let path = bad.path().join("q.parquet");
    fs::write(&path, b"PAR1 and no more").unwrap();
    let error = read_with(&path, &Value::Null).unwrap_err();
    assert!(error.ends_with("download or write the file again"), "{error}");
    fs::write(&path, b"q\xff").unwrap();
    let error = read_with(&path, &Value::Null).unwrap_err();
    assert!(error.ends_with("byte 1: is no UTF-8 text; save it as such"), "{error}");
}

#[test]
fn columns_may_be_wrapped_in_one() {
    let set = read_with(&fixtures().join("data-sets/mmlu_wrapped.parquet"), &Value::Null).unwrap();
    let golds = [(0, 'A'), (1, 'A'), (2, 'A'), (3, 'B')];
    assert_eq!(asked(&set), golds.map(|(at, gold)| (at, "auxiliary_train".to_owned(), gold)));
}

fn mmlu() -> PathBuf {
    fixtures().join("dataset-fixtures/mmlu")
}

#[test]
fn a_limit_gives_each_subject_an_equal_share_in_the_order_of_the_file() {
    let asked = |settings: Value| asked(&read_with(&mmlu().join("flat.jsonl"), &settings).unwrap());
    let all = asked(Value::Null);
    assert_eq!(all.len(), 18);
    let limited = asked(json!({"totalLimit": 8}));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    limited.iter().for_each(|(_, subject, _)| *counts.entry(subject).or_default() += 1);
    assert_eq!(counts.values().copied().collect::<Vec<_>>(), [2, 2, 1, 1, 1, 1]);
    assert!(limited.is_sorted_by_key(|it| it.0) && limited.iter().all(|it| all.contains(it)));
    assert_eq!(limited[0], all[0]);
    let of_two = asked(json!({"subjects": ["anatomy", "moral_scenarios"], "totalLimit": 100}));
    assert!(of_two.len() == 6 && of_two.iter().all(|it| it.1 == "anatomy" || it.1 == "moral_scenarios"));
}

#[test]
fn what_is_to_be_asked_or_shown_and_is_not_there_is_named() {
    let file = mmlu().join("flat.jsonl");
    let check = |data: &Path, settings: Value, expected: &str| {
        let error = read_with(data, &settings).unwrap_err().replace(&data.display().to_string(), "DATA");
        assert_eq!(error, expected);
    };
    check(
        &file,
        json!({"subjects": ["anatomy", "alchemy", "astrology"]}),
        "subjects has alchemy, astrology, of which DATA has no question; it has abstract_algebra, anatomy, high_school_us_history, professional_law, moral_scenarios, machine_learning",
    );
    check(
        &file,
        json!({"shots": 5}),
        "shots is 5, and DATA is one file without examples; name a file or a folder with them in examples, or set shots to 0",
    );
    check(
        &mmlu().join("hf_per_subject"),
        json!({"shots": 1}),
        "the folder DATA has no questions of the split dev: none of dev-*.parquet, dev/*_dev.csv, dev.jsonl, dev.csv is there, only abstract_algebra, anatomy; name a file or a folder with examples, or set shots to 0",
    );
    check(
        &mmlu().join("hf_all"),
        json!({"split": "validation"}),
        "the folder DATA has no questions of the split validation: none of validation-*.parquet, validation/*_validation.csv, validation.jsonl, validation.csv is there, only all; name another split, or another folder",
    );
    let few = folder(&[
        ("test.csv", "subject,question,A,B,C,D,answer\nlaw,q,1,2,3,4,A\n"),
        ("dev.csv", "subject,question,A,B,C,D,answer\nlaw,q,1,2,3,4,A\n"),
    ]);
    check(
        few.path(),
        json!({"shots": 2}),
        "shots is 2, and the examples of DATA are fewer for law (1); lower shots, or name other examples",
    );
    let error = read_with(Path::new("/nowhere/mmlu"), &Value::Null).unwrap_err();
    assert!(error.starts_with("cannot read the questions of /nowhere/mmlu: No such file"), "{error}");
}

#[test]
fn a_subject_outside_of_the_table_is_noticed() {
    let outside = folder(&[("test.csv", "subject,question,A,B,C,D,answer\nalchemy,q,1,2,3,4,A\nlaw,q,1,2,3,4,A\n")]);
    let read = read(&workload(outside.path(), &Value::Null)).unwrap();
    let [notice] = read.notices.as_slice() else { panic!("{:?}", read.notices) };
    assert_eq!(notice.message, "alchemy, law is in no table of domains, and counts in the domain Other");
    assert_eq!(read.files.len(), 1);
    assert!(read.files[0].sha256.is_some());
}

#[test]
fn a_prompt_has_the_examples_of_its_subject_behind_the_instruction() {
    let set =
        read_with(&mmlu().join("hendrycks"), &json!({"shots": 5, "format": "chat", "instruction": "Say a letter."}));
    let prompt = set.unwrap().prompt(3);
    assert!(
        prompt.starts_with(
            "Say a letter.\n\nThe following are multiple choice questions (with answers) about  anatomy.\n\n"
        ),
        "{prompt}"
    );
    assert_eq!(prompt.matches("\nAnswer:").count(), 6);
    assert!(prompt.ends_with("\nAnswer:"));
    let other = read_with(
        &mmlu().join("flat.jsonl"),
        &json!({"shots": 2, "examples": FileSource::Path(mmlu().join("hf_all"))}),
    );
    assert_eq!(other.unwrap().prompt(0).matches("\nAnswer:").count(), 3);
}

#[test]
fn a_prompt_that_would_be_too_long_has_fewer_examples() {
    let read = |most: u32, tokenizer: &Value| {
        let settings = json!({"shots": 5, "maxPromptTokens": most});
        let mut workload = workload(&mmlu().join("hendrycks"), &settings);
        workload.tokenizer = serde_json::from_value(tokenizer.clone()).unwrap();
        let read = read(&workload).unwrap();
        let set = read.set.unwrap();
        let examples: Vec<usize> = (0..set.len()).map(|it| set.prompt(it).matches("\nAnswer:").count() - 1).collect();
        (set, examples, read.notices)
    };
    let (set, examples, notices) = read(100_000, &Value::Null);
    assert!(examples == [5; 18] && notices.is_empty(), "{examples:?} {notices:?}");
    // Without a tokenizer, lengths are counted in words.
    let words = |it: u64| set.prompt(it).split_whitespace().count();
    let most = (0..set.len()).map(words).max().unwrap() - 1;
    let (set, examples, notices) = read(most as u32, &Value::Null);
    assert!((0..set.len()).all(|it| set.prompt(it).split_whitespace().count() <= most));
    let fewer = examples.iter().filter(|it| **it < 5).count();
    assert!(fewer > 0 && fewer < 18 && examples.iter().all(|it| *it >= 4), "{examples:?}");
    let message = format!(
        "{fewer} of 18 questions have fewer than 5 examples, because their prompts would have more than {most} tokens"
    );
    assert_eq!(notices[0].message, message);
    assert_eq!(read(1, &Value::Null).1, [0; 18]);
    let tokenizer = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tokenizer/tests/fixtures/metaspace.json");
    let (_, by_tokens, _) = read(most as u32, &json!(tokenizer));
    assert!(by_tokens.iter().sum::<usize>() < examples.iter().sum(), "a word has several tokens: {by_tokens:?}");
}

#[test]
fn a_message_for_a_status_has_no_words_of_a_file() {
    let folder = folder(&[("q.jsonl", "{\"question\": \"q\", \"choices\": \"secret\"}")]);
    let error = read(&workload(&folder.path().join("q.jsonl"), &Value::Null)).unwrap_err();
    assert!(error.without_words().is_some_and(|it| it.ends_with("line 1: are no questions with four choices")));
}
