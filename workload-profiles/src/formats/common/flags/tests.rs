use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::yaml;

const FLAGS: [Flag; 8] = [
    Flag::read(Form::One, &["count", "num"]),
    Flag::read(Form::Switch, &["fast"]),
    Flag::read(Form::Words(' '), &["names"]),
    Flag::read(Form::Pairs { sign: ':', between: ' ' }, &["bounds"]),
    Flag::read(Form::Json, &["body"]),
    Flag::ignored(&["file"]),
    Flag::noticed(&["plot"], "is not used: nothing is drawn"),
    Flag::refused(&["audio"], "sends sound; take it out"),
];
const TOOL: Tool = Tool { name: "tool", flags: &[&FLAGS], lists_add: false };

fn read(text: &str) -> Result<(Value, Vec<String>), String> {
    let findings = Findings::default();
    let flags = match text.strip_prefix("$ ") {
        Some(line) => from_command_line(line, &[&["tool", "run"], &["tool"]], TOOL, &findings),
        None => from_mapping(&yaml::read(text).unwrap(), TOOL, &findings),
    };
    let notices = findings.into_result().map_err(|it| it.to_string())?;
    Ok((flags.unwrap(), notices.iter().map(ToString::to_string).collect()))
}

fn check(text: &str, expected: Value) {
    assert_eq!(read(text), Ok((expected, Vec::new())), "{text}");
}

fn check_error(text: &str, expected: &str) {
    assert_eq!(read(text).unwrap_err(), expected, "{text}");
}

#[test]
fn a_mapping_and_a_command_line_are_the_same_flags() {
    let expected =
        json!({"count": "5", "fast": true, "names": ["a", "b"], "bounds": {"x": "1", "y": "2"}, "body": {"a": [1]}});
    check("num: '5'\nfast: none\nnames: a b\nbounds: 'x:1 y:2'\nbody: '{\"a\": [1]}'\nfile: x", expected.clone());
    check("num: '5'\nfast: true\nnames: [a, b]\nbounds: {x: '1', y: '2'}\nbody: {a: [1]}", expected.clone());
    check("$ /bin/tool run --num 5 --fast --names a b --bounds x:1 y:2 --body='{\"a\": [1]}' --file x", expected);
    check("--count: 5\nfast: false", json!({"count": 5}));
}

#[test]
fn a_flag_that_is_not_read_says_why() {
    assert_eq!(read("plot: none").unwrap().1, ["plot: is not used: nothing is drawn"]);
    assert_eq!(read("plot: false\naudio: false").unwrap().1, [""; 0]);
    check_error("audio: none", "audio: sends sound; take it out");
    check_error("cuont: 5", "cuont: is no flag of tool; did you mean count?");
}

#[test]
fn only_the_first_unknown_flags_are_compared_with_the_known_ones() {
    let many: Map<String, Value> = (0..1_000).map(|it| (format!("cuont{it}"), Value::Null)).collect();
    let findings = Findings::default();
    from_mapping(&Value::Object(many), TOOL, &findings);
    let problems = findings.into_result().unwrap_err().problems;
    let compared = problems.iter().filter(|it| it.message.contains("did you mean") || it.message.contains("known are"));
    assert_eq!((problems.len(), compared.count()), (1_000, MAX_SUGGESTIONS));
}

#[test]
fn a_value_in_another_form_is_shown() {
    check_error("count: none", "count: has no value; write one, or take the flag out");
    check_error("count:", "count: is empty; write its value, or none for a flag without one, or take the flag out");
    check_error("$ tool --count 1 2", "count: has 2 values; it takes one, so take the others out");
    check_error("fast: 7", "fast: is 7; the flag has no value, so write none, or take it out");
    check_error("names: {a: 1}", "names: is a mapping with the key a; write words with a blank between them");
    check_error("bounds: secret", "bounds: holds a word without :; write name:value");
    check_error("bounds: x:1 x:2", "bounds: holds x twice; keep one");
    check_error("body: '[1]'", "body: is \"[1]\"; write a JSON object, such as '{\"name\": 1}'");
    check_error(
        "[a]",
        "profile: is a list of length 1; write the flags of tool as a mapping, one line `name: value` per flag",
    );
}

#[test]
fn a_flag_is_given_once() {
    check_error("count: 1\nnum: 2", "num: means the same as count; keep one of them");
    check_error("$ tool --fast --fast", "fast: is given twice; keep one");
    let adding = Tool { lists_add: true, ..TOOL };
    let findings = Findings::default();
    let line = "tool --names a --names b --bounds x:1 --bounds y:2";
    let flags = from_command_line(line, &[&["tool"]], adding, &findings);
    assert_eq!(flags, Some(json!({"names": ["a", "b"], "bounds": {"x": "1", "y": "2"}})));
    assert_eq!(findings.into_result(), Ok(Vec::new()));
}

#[test]
fn another_command_is_refused() {
    check_error(
        "$ tool walk --fast",
        "profile: begins with \"tool walk\"; write tool run or tool, and its flags after it",
    );
    check_error("$ tool run 'x", "profile: has a quote ' that does not end, in \"x\"; close it");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(line in "tool( --?(count|fast|names|bounds|body|x)([ =]([a-z:{}\"\\[\\]1,]{0,6}|'[^']{0,4}'))?){0,5}") {
        if let Err(error) = read(&format!("$ {line}")) {
            prop_assert!(error.to_string().contains(": ") && error.to_string().len() < 10_000, "{error}");
        }
    }
}
