use proptest::prelude::*;
use serde_json::json;

use super::*;

fn check(text: &str, expected: Value) {
    let document = read(text).unwrap().unwrap();
    assert_eq!((document.root.to_json(), document.problems), (expected, Vec::new()), "{text:?}");
}

fn check_problem(text: &str, expected: &str) {
    let problems = match read(text) {
        Ok(document) => document.map(|it| [it.problems, it.ambiguous_keys].concat()).unwrap_or_default(),
        Err(problem) => vec![problem],
    };
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(lines, [expected], "{text:?}");
}

#[test]
fn words_mean_what_they_mean_to_kubectl() {
    for (text, expected) in [
        ("1", json!(1)),
        ("-3", json!(-3)),
        ("+1", json!(1)),
        ("0", json!(0)),
        ("1.5", json!(1.5)),
        (".5", json!(0.5)),
        ("1.", json!(1)),
        ("1e3", json!(1000)),
        ("60.0", json!(60)),
        ("-0.0", json!(0)),
        ("-9223372036854775808.0", json!(i64::MIN)),
        ("1e19", json!(10_000_000_000_000_000_000_u64)),
        ("1e20", json!(1e20)),
        ("15e-1", json!(1.5)),
        ("18446744073709551615", json!(u64::MAX)),
        ("off", json!(false)),
        ("Yes", json!(true)),
        ("~", json!(null)),
        ("'off'", json!("off")),
        ("\"010\"", json!("010")),
        ("1:30", json!("1:30")),
        ("5m", json!("5m")),
        ("2026-01-02", json!("2026-01-02")),
        ("|\n  010\n", json!("010\n")),
        ("nan", json!("nan")),
        ("1.2.3", json!("1.2.3")),
        ("0b2", json!("0b2")),
    ] {
        check(&format!("a: {text}"), json!({"a": expected}));
    }
}

#[test]
fn numbers_that_are_read_in_two_ways_are_refused() {
    for (text, kubectl) in
        [("010", "8"), ("0x10", "16"), ("1_000", "1000"), ("08", "8"), ("-0o17", "-15"), ("0b11", "3")]
    {
        let expected = format!(
            "a, line 1 column 4: is {text}, which kubectl reads as {kubectl} and other readers of YAML as another value; write {kubectl}, or \"{text}\" in quotes if it is a text"
        );
        check_problem(&format!("a: {text}"), &expected);
    }
    check_problem(
        "a: .nan",
        "a, line 1 column 4: is .nan, which JSON cannot hold; write a finite number, or \".nan\" in quotes if it is a text",
    );
    check_problem(
        "a: {on: 1}",
        "a.on, line 1 column 5: is a key that kubectl reads as true; write \"on\" in quotes, or another name",
    );
}

#[test]
fn aliases_and_merges_are_filled_in() {
    check(
        "a: &x {b: 1, c: 2}\nd: *x\ne: {<<: *x, c: 3}",
        json!({"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 2}, "e": {"c": 3, "b": 1}}),
    );
    check("\u{feff}a: 1\r\nb:\r\n- 2\r\n", json!({"a": 1, "b": [2]}));
    check("---\na: 1\n---\n", json!({"a": 1}));
    assert_eq!(read("# nothing\n").unwrap(), None);
}

#[test]
fn what_cannot_be_used_has_its_place_and_a_remedy() {
    check_problem(
        "a: 1\nb: 2\na: [3]",
        "a, line 3 column 1: is given twice, here as a list, [3] and at line 1 column 1 as 1; keep one of them",
    );
    check_problem("a: !foo {b: 1}", "a, line 1 column 9: has the tag !foo; take the tag out");
    check_problem(
        "a: 1\n---\nb: 2\n",
        "line 3 column 1: holds several documents, the first one at line 1 column 1; give each document a file of its own",
    );
    check_problem("a: {[1]: 2}", "a, line 1 column 5: has a list, [1] for a key; write a text");
    check_problem("a: {<<: 1}", "a.\"<<\", line 1 column 9: is 1; merge a mapping, such as <<: *name");
    check_problem(
        "a: &x [*x]",
        "a[0], line 1 column 8: is an alias of a value that it is a part of; write the value out",
    );
    for (text, words, remedy) in [
        ("a: b: c", "in \"a: b: c\"", "quotes"),
        ("a: [1", "line ", "close every bracket"),
        ("a:\n\tb: 1", "line 2", "spaces"),
        ("a: *x", "line 1 column 4", "&name"),
        ("a: \"\\q\"", "line 1", "quotes"),
        ("a: 1\n b: 2", "line 2", "indent"),
    ] {
        let problem = read(text).unwrap_err().to_string();
        assert!(problem.contains(words) && problem.contains(remedy), "{text:?}: {problem}");
    }
}

#[test]
fn a_document_cannot_take_more_than_its_share() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let alias = format!("*a{},", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{alias}]\n"));
    }
    assert!(read(&bomb).unwrap_err().message.contains("more than 50000 values, counting the content of each alias"));
    assert!(read(&"[".repeat(100_000)).unwrap_err().message.contains("at most 64 levels"));
    assert!(read("api_key: sk-123: x").unwrap_err().message.contains("quotes"));
    assert!(!read("api_key: sk-123: x").unwrap_err().message.contains("sk-123"));
}

#[test]
fn a_path_leads_to_its_place() {
    let root = read("a:\n  b: [1, {c: 2}]\n  d:\n").unwrap().unwrap().root;
    for (path, line, column) in [("a.b", 2, 6), ("a.b[1].c", 2, 14), ("a.d", 3, 3), ("a.x", 2, 3)] {
        assert_eq!(root.place_of(path), Place { line, column }, "{path}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,60}|[-a:\\[\\]{}&*!|> \n'\"#%@,?<0x_]{0,60}") {
        let _ = read(&text);
    }
}

#[test]
fn a_text_that_looks_like_a_number_is_written_as_one_reading() {
    for text in ["0+5", "1_000", "0o17", "yes", "1:30", ".5", "a\u{85}b"] {
        let value = serde_json::json!({"headers": {"x-a": text}});
        let written = write(&value);
        let read = read(&written).unwrap().unwrap();
        assert!(read.problems.is_empty(), "{written}");
        assert_eq!(read.root.to_json(), value, "{written}");
    }
}
