use std::collections::BTreeSet;

use crds::units::Seed;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::requests::draws;

type Make = fn(&Texts, u32, &mut ChaCha8Rng, &mut String) -> bool;

const MAKERS: [(&str, Make); 3] = [
    ("words", |texts, tokens, rng, text| texts.words(tokens, rng, text)),
    ("prose", |texts, tokens, rng, text| texts.prose(tokens, rng, text)),
    ("fresh prose", |texts, tokens, rng, text| texts.fresh_prose(tokens, rng, text)),
];
const TOKENIZERS: [&[u8]; 2] = [
    include_bytes!("../../../../tokenizer/tests/fixtures/byte-level.json"),
    include_bytes!("../../../../tokenizer/tests/fixtures/metaspace.json"),
];
/// A tokenizer for which each letter and each space is one token, as in byte tokenizers.
const LETTERS: &str = r#"{"version":"1.0","pre_tokenizer":{"type":"Split","pattern":{"Regex":""},"behavior":"Isolated","invert":false},"model":{"type":"WordLevel","vocab":{"a":0,"x":1,"?":2},"unk_token":"?"}}"#;

fn check(texts: &Texts, make: Make, tokens: u32, seed: u64) -> (String, bool) {
    let mut text = String::new();
    let exact = make(texts, tokens, &mut draws(Seed(seed), 0), &mut text);
    (text, exact)
}

/// Counts words and punctuation marks in another way than the code under test.
fn count(text: &str) -> usize {
    let marks = text.chars().filter(|it| !it.is_alphanumeric() && *it != ' ').count();
    marks + text.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty()).count()
}

#[test]
fn the_words_are_many_different_and_plain() {
    let words = &*super::words::WORDS;
    assert!(words.len() > 500, "{}", words.len());
    assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
    assert!(words.iter().all(|it| it.bytes().all(|it| it.is_ascii_lowercase())));
}

#[test]
fn the_prose_needs_no_escapes() {
    assert!(PROSE.text().bytes().all(|it| it.is_ascii() && it >= b' ' && it != b'"' && it != b'\\'));
}

#[test]
fn without_a_tokenizer_a_text_has_as_many_pieces_as_were_asked() {
    for tokens in [0, 1, 2, 17, 1_000, 20_000] {
        for seed in 0..5 {
            for (name, make) in MAKERS {
                let (text, exact) = check(&Texts::default(), make, tokens, seed);
                assert_eq!((count(&text), exact), (tokens as usize, false), "{name}");
            }
        }
    }
}

#[test]
fn with_a_tokenizer_a_text_has_exactly_the_asked_tokens() {
    for json in TOKENIZERS {
        let tokenizer = Tokenizer::parse(json).unwrap();
        let texts = Texts::new(None, Some(tokenizer.clone())).unwrap();
        assert!(!texts.encodes_every_text());
        for (name, make) in MAKERS {
            for tokens in (0..40).chain([333, 1_000, 5_000]) {
                for seed in 0..5 {
                    let (text, exact) = check(&texts, make, tokens, seed);
                    assert_eq!((tokenizer.count(&text).unwrap(), exact), (tokens as usize, true), "{name}: {text}");
                }
            }
        }
    }
}

#[test]
fn a_text_behind_another_one_is_exact_too() {
    for json in TOKENIZERS {
        let tokenizer = Tokenizer::parse(json).unwrap();
        let texts = Texts::new(None, Some(tokenizer.clone())).unwrap();
        for (place, (_, before)) in MAKERS.into_iter().enumerate() {
            for (_, after) in MAKERS {
                for tokens in 1..60 {
                    let (mut text, _) = check(&texts, before, tokens, 1);
                    let prefix = text.clone();
                    after(&texts, 7, &mut draws(Seed(place as u64), 0), &mut text);
                    assert_eq!(tokenizer.count(&text).unwrap(), tokens as usize + 7, "{text}");
                    assert!(text.strip_prefix(&prefix).is_some_and(|it| it.starts_with(' ')), "{text}");
                }
            }
        }
    }
}

#[test]
fn words_that_are_joined_to_other_words_stay_exact() {
    for json in TOKENIZERS {
        let tokenizer = Tokenizer::parse(json).unwrap();
        let texts = Texts::new(None, Some(tokenizer.clone())).unwrap();
        for seed in 0..50 {
            let [before, after] = [seed, seed + 100].map(|seed| check(&texts, MAKERS[0].1, 9, seed).0);
            assert_eq!(tokenizer.count(&format!("{before} {after}")).unwrap(), 18);
        }
    }
}

#[test]
fn a_text_is_fitted_where_the_tokens_of_words_do_not_add_up() {
    let tokenizer = Tokenizer::parse(LETTERS.as_bytes()).unwrap();
    assert_eq!(tokenizer.count("ab c").unwrap(), 4);
    let texts = Texts::new(None, Some(tokenizer.clone())).unwrap();
    assert!(texts.encodes_every_text());
    for (name, make) in MAKERS {
        for tokens in (0..20).chain([300]) {
            let (text, exact) = check(&texts, make, tokens, 3);
            assert_eq!((tokenizer.count(&text).unwrap(), exact), (tokens as usize, true), "{name}: {text}");
            assert_eq!(check(&texts, make, tokens, 3).0, text);
        }
    }
}

#[test]
fn prose_comes_from_the_corpus() {
    let corpus = "Shall  I \"compare\"\nthee,\n\tto a summer's day? Ünder 2 trees …";
    let tokenizer = Tokenizer::parse(TOKENIZERS[0]).unwrap();
    for tokenizer in [None, Some(tokenizer)] {
        let texts = Texts::new(Some(corpus), tokenizer.clone()).unwrap();
        let line = corpus.split_whitespace().collect::<Vec<_>>().join(" ");
        let endless = [line.as_str(); 60].join(" ");
        let mut starts = BTreeSet::new();
        for seed in 0..40 {
            let (text, _) = check(&texts, MAKERS[1].1, 100, seed);
            // With a tokenizer, the last tokens may be fillers instead of prose.
            let most = text.len() - if tokenizer.is_some() { 30 } else { 0 };
            assert!(endless.contains(&text[..text.floor_char_boundary(most)]), "{text}");
            starts.insert(text[..5].to_owned());
            if let Some(tokenizer) = &tokenizer {
                assert_eq!(tokenizer.count(&text).unwrap(), 100, "{text}");
            }
        }
        assert!(starts.len() > 5, "{starts:?}");
    }
    let error = Texts::new(Some(" \n… !"), None).unwrap_err();
    assert_eq!(error.to_string(), "the corpus has no word; give a file of running text");
}

#[test]
fn texts_of_different_draws_differ_from_the_beginning() {
    let exact = Texts::new(None, Some(Tokenizer::parse(TOKENIZERS[1]).unwrap())).unwrap();
    for texts in [Texts::default(), exact] {
        let first = |make| (0..50).map(|seed| check(&texts, make, 6, seed).0).collect::<BTreeSet<_>>().len();
        assert!(first(MAKERS[0].1) == 50 && first(MAKERS[1].1) > 45);
    }
}

#[test]
fn a_text_goes_on_behind_what_stands_there() {
    let mut text = "System.".to_owned();
    words(2, &mut draws(Seed(1), 0), &mut text);
    assert!(text.starts_with("System. ") && text.split(' ').count() == 3, "{text}");
}
