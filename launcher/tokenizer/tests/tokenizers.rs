//! Tests the tokenizers of the fixtures, and files that are not tokenizers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use tokenizer::{Tokenizer, TokenizerError};

const BYTE_LEVEL: &[u8] = include_bytes!("fixtures/byte-level.json");
const METASPACE: &[u8] = include_bytes!("fixtures/metaspace.json");

#[track_caller]
fn check(json: &[u8], text: &str, tokens: usize) {
    let tokenizer = Tokenizer::parse(json).unwrap();
    let ids = tokenizer.ids(text).unwrap();
    assert_eq!((ids.len(), tokenizer.count(text).unwrap()), (tokens, tokens), "{text:?}");
    assert_eq!(tokenizer.decode(&ids).unwrap(), text);
}

#[test]
fn tokens_are_counted_without_special_ones() {
    for json in [BYTE_LEVEL, METASPACE] {
        check(json, "The sea is wide", 4);
        check(json, "", 0);
    }
    // A letter that is not in the vocabulary is encoded as its two bytes.
    check(BYTE_LEVEL, "é", 2);
    // The mark for a preceding space is a separate token.
    check(METASPACE, "é", 3);
}

#[test]
fn ids_without_text_are_left_out() {
    for (json, special) in [(BYTE_LEVEL, 0), (METASPACE, 1)] {
        let tokenizer = Tokenizer::parse(json).unwrap();
        let mut ids = tokenizer.ids("The sea").unwrap();
        ids.extend([special, u32::MAX]);
        assert_eq!(tokenizer.decode(&ids).unwrap(), "The sea");
        let plain = tokenizer.plain_ids();
        assert!(plain.len() > 1_500 && plain.is_sorted() && !plain.contains(&special));
    }
}

#[test]
fn special_tokens_have_text_where_it_is_asked_for() {
    for (json, special, text) in [(BYTE_LEVEL, 0, "<|begin_of_text|>"), (METASPACE, 1, "<s>")] {
        let tokenizer = Tokenizer::parse(json).unwrap();
        let ids = [special];
        assert_eq!(
            (tokenizer.decode(&ids).unwrap().as_str(), tokenizer.decode_all(&ids).unwrap().as_str()),
            ("", text)
        );
        let bound = tokenizer.id_bound();
        assert!(tokenizer.plain_ids().iter().all(|it| *it < bound));
        assert_eq!(tokenizer.decode_all(&[bound, u32::MAX]).unwrap(), "");
    }
}

#[test]
fn words_of_the_vocabulary_have_no_marks() {
    for json in [BYTE_LEVEL, METASPACE] {
        let words = Tokenizer::parse(json).unwrap().words();
        assert!(words.len() > 500 && words.iter().any(|it| it == "harbour"), "{}", words.len());
        assert!(words.iter().all(|it| it.bytes().all(|it| it.is_ascii_alphabetic())));
    }
}

#[test]
fn truncation_and_padding_of_the_file_are_off() {
    let json = std::str::from_utf8(BYTE_LEVEL).unwrap();
    let bounded = json.replace(
        r#""truncation":null,"padding":null"#,
        r#""truncation":{"direction":"Right","max_length":2,"strategy":"LongestFirst","stride":0},"padding":{"strategy":{"Fixed":8},"direction":"Right","pad_to_multiple_of":null,"pad_id":0,"pad_type_id":0,"pad_token":"x"}"#,
    );
    assert_ne!(bounded, json);
    check(bounded.as_bytes(), "The sea is wide", 4);
}

#[test]
fn what_is_no_tokenizer_is_refused_with_the_remedy() {
    for json in ["", "{}", "[1]", "{\"model\":{\"type\":\"BPE\"}}", "\u{1f}\u{8b}"] {
        let error = Tokenizer::parse(json.as_bytes()).unwrap_err();
        assert!(matches!(error, TokenizerError::Format { .. }), "{json}: {error}");
        let message = error.to_string();
        assert!(message.ends_with("give the file of this name that the model is published with"), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
    let blind = r#"{"version":"1.0","model":{"type":"WordLevel","vocab":{"x":0},"unk_token":"y"}}"#;
    let error = Tokenizer::parse(blind.as_bytes()).unwrap_err();
    assert!(matches!(error, TokenizerError::Encode { .. }), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_damaged_file_is_refused_or_works(at in 0..METASPACE.len(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut json = METASPACE.to_vec();
        json[at] = byte;
        if cut {
            json.truncate(at);
        }
        if let Ok(tokenizer) = Tokenizer::parse(&json) {
            prop_assert!(tokenizer.count("The sea is wide.").is_ok());
        }
    }
}
