//! Compares letters, numbers, programs and exact matches with the reference.

use accuracy::{
    answers::{
        LastLetter, aime_answer, boxed, deepseek_code, deepseek_letter, gpt_oss_code, gpt_oss_letter, gsm8k_is_correct,
        gsm8k_number, niah_em, qa_em,
    },
    clean_up,
};
use serde_json::Value;

use crate::accuracy_vectors::{json_of, list, say, string};

/// Runs `check` for each case in a list.
fn compare(name: &str, check: impl Fn(&Value)) {
    let Some(file) = json_of("answer_extraction.json") else { return };
    let cases = list(&file[name], name);
    cases.iter().for_each(check);
    say(&format!("answer_extraction.json, {name}: {} cases", cases.len()));
}

#[test]
fn letters() {
    compare("multiple_choice", |case| {
        let text = string(&case["text"]);
        let check = |found: Option<char>, key: &str| {
            assert_eq!(found.map(String::from).as_deref(), case[key].as_str(), "{key} of {text:?}");
        };
        check(deepseek_letter(text, LastLetter::D), "r1_D");
        check(deepseek_letter(text, LastLetter::J), "r1_J");
        check(gpt_oss_letter(text, LastLetter::D), "gptoss_D");
        check(gpt_oss_letter(text, LastLetter::J), "gptoss_J");
    });
}

#[test]
fn numbers_and_boxes() {
    compare("aime_and_boxed", |case| {
        let text = string(&case["text"]);
        assert_eq!(aime_answer(text), case["aime"].as_u64(), "{text:?}");
        assert_eq!(boxed(text), case["boxed"].as_str(), "{text:?}");
    });
    compare("gsm8k", |case| {
        let text = string(&case["text"]);
        assert_eq!(gsm8k_number(text).unwrap_or_default(), string(&case["number"]), "{text:?}");
        match case["value"].as_f64() {
            Some(value) => assert!(gsm8k_is_correct(text, &value.to_string()), "{text:?}"),
            None => assert!(!gsm8k_is_correct(text, "0") && !gsm8k_is_correct(text, ""), "{text:?}"),
        }
    });
}

#[test]
fn programs() {
    compare("code_block", |case| {
        let text = string(&case["text"]);
        assert_eq!(deepseek_code(text), case["r1"].as_str(), "{text:?}");
        assert_eq!(gpt_oss_code(text), case["gptoss"].as_str(), "{text:?}");
    });
}

#[test]
fn exact_matches() {
    let check = |found: fn(&str, &str) -> f64| {
        move |case: &Value| {
            let (label, prediction) = (string(&case["label"]), string(&case["prediction"]));
            assert_eq!(Some(found(label, prediction)), case["exact_match"].as_f64(), "{label:?} {prediction:?}");
        }
    };
    compare("niah_em", check(niah_em));
    compare("qa_em", check(qa_em));
}

#[test]
fn spaces() {
    compare("clean_up_tokenization", |case| {
        assert_eq!(clean_up(string(&case["text"])), string(&case["cleaned"]));
    });
}
