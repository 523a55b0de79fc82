use proptest::prelude::*;
use serde_json::json;

use super::*;

fn record() -> Value {
    json!({
        "session_id": "s1", "benchmark": "gsm8k", "harness": null, "models": ["m1", "m2"], "max_tokens": 9000, "total_tokens": 1.5e4,
        "spans": [{"name": "chat"}, {"name": "tool"}, {"name": "chat"}],
    })
}

fn check(filter: &str, expected: bool) {
    assert_eq!(Filter::parse(filter).unwrap().accepts(&record()), Ok(expected), "{filter}");
}

fn check_error(filter: &str, expected: &str) {
    let error = Filter::parse(filter).unwrap_err().to_string();
    assert!(error.starts_with(expected), "{filter}: {error}");
}

fn check_record_error(filter: &str, expected: &str) {
    assert_eq!(Filter::parse(filter).unwrap().accepts(&record()).unwrap_err().to_string(), expected, "{filter}");
}

#[test]
fn filters_mean_what_they_mean_in_python() {
    for (filter, expected) in [
        ("lambda x: x['benchmark'] == 'gsm8k'", true),
        ("lambda x: x['benchmark'] == 'gsm8k' and len(x['spans']) >= 3", true),
        ("lambda x: 'spans' in x and len(x['spans']) > 5", false),
        ("lambda x: x.get('max_tokens', 0) < 28000", true),
        ("lambda record: record['max_tokens'] < 28_000", true),
        ("lambda x: x.get('steps', 0) < 50", true),
        ("lambda x: x.get('steps') is None and x['benchmark'] is not None", true),
        ("lambda x: 1000 < x['max_tokens'] <= 9000.0", true),
        ("lambda x: 1000 < x['max_tokens'] < 9000", false),
        ("lambda x: x['benchmark'] in ['a', \"gsm8k\"] or x['nothing']", true),
        ("lambda x: x['benchmark'] not in ('a', 'b')", true),
        ("lambda x: not (x['max_tokens'] > 5e3 or False)", false),
        ("lambda x: not not x['models']", true),
        ("lambda x: 'm2' in x['models'] and x['models'][-1] == 'm2'", true),
        ("lambda x: x['spans'][1]['name'] != 'tool'", false),
        ("lambda x: 'sm8' in x['benchmark']", true),
        ("lambda x: x['harness']", false),
        ("lambda x: x['models'] == ['m1', 'm2']", true),
        ("lambda x: x['max_tokens'] > -1", true),
        ("lambda x: x['benchmark'] < 'h'", true),
        ("lambda x: True == 1", true),
        ("lambda x: x['max_tokens'] == '9000'", false),
        ("lambda x: len('\\'äb') == 3", true),
    ] {
        check(filter, expected);
    }
}

#[test]
fn what_is_not_known_is_refused_and_never_run() {
    check_error("x['a'] == 1", "`x` at character 1; begin with `lambda x:`");
    check_error("", "the end at character 1; begin with `lambda x:`");
    check_error("lambda x: __import__('os').system('true')", "`__import__` at character 11; known are comparisons");
    check_error("lambda x: x.items()", "`items` at character 13; known are comparisons");
    check_error("lambda x: x['a'] + 1 > 2", "'+' at character 18; known are");
    check_error("lambda x: x['a'] > 2 if True else False", "`if` at character 22; known are");
    check_error("lambda x: x['a'] is 5", "a value at character 21; write None after `is`, or use ==");
    check_error("lambda x: x['a", "a text without an end at character 13; close its quotes");
    check_error("lambda x: x['a'", "the end at character 16; write ] here");
    check_error("lambda x: 5 < 0x10", "\"0x10\" at character 15; write a decimal number");
    check_error("lambda x, y: x", "`,` at character 9; write : here");
    check_error("lambda x: any(s for s in x['spans'])", "`any` at character 11; known are");
    let deep = format!("lambda x: {}x{}", "(".repeat(1000), ")".repeat(1000));
    check_error(&deep, "`(` at character 76; nest it less deeply");
    check_error(&" ".repeat(5000), "more than 4096 bytes at character 1; shorten it");
}

#[test]
fn a_record_that_cannot_be_decided_on_says_why() {
    check_record_error(
        "lambda x: x['steps'] < 5",
        "the record has no key \"steps\"; use .get(\"steps\") for records without it",
    );
    check_record_error("lambda x: x['models'][2] == 'a'", "position 2 is not in the list; check len(...) before it");
    check_record_error("lambda x: x['benchmark'] < 5", "< cannot be used with a text and a number");
    check_record_error("lambda x: len(x['max_tokens']) < 5", "len cannot be used with a number");
    check_record_error("lambda x: x['benchmark']['a']", "[] cannot be used with a text");
    check_record_error("lambda x: 5 in x['max_tokens']", "in cannot be used with a number and a number");
}

proptest! {
    #[test]
    fn no_text_makes_the_filter_panic(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "lambda x:", "x", "['a']", ".get('models', 1)", "len(", "(", ")", "[", "]", ",", " and ", " or ", " not ", " in ", "==", "<",
                " is None", "-", "1", "9e99", "'m1'", "None", "é", "\\", "'", "x['models']", "x['spans']",
            ]), 0..40),
    ) {
        if let Ok(filter) = Filter::parse(&format!("lambda x:{}", parts.concat())) {
            let said = filter.accepts(&record()).map_err(|it| it.to_string());
            prop_assert!(said.is_ok() || said.is_err_and(|it| !it.is_empty() && it.len() < 10_000));
        }
        if let Err(error) = Filter::parse(&parts.concat()) {
            prop_assert!(!error.to_string().is_empty() && error.to_string().len() < 10_000);
        }
    }
}
