//! Tests properties that hold for every text, and that no input makes the crate panic.

use accuracy::{
    answers::{
        LastLetter, aime_answer, boxed, deepseek_code, deepseek_letter, gpt_oss_code, gpt_oss_letter, gsm8k_number,
        niah_em, qa_em,
    },
    clean_up,
    log::{Element, token_ids},
    punkt::Punkt,
    rouge,
};
use proptest::prelude::*;

/// Generates texts with many punctuation marks that end sentences and words.
fn texts() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "Dr", "p.m", "word", "Word", "A", "b", ".", ".", "?", "!", "...", ". . .", "--", " ", " ", "  ", "\n", "\"",
        "'", ")", "(", "]", ",", "3.14", "-", "\u{a0}", "\u{1c}", "\u{e9}", "\u{130}", "\u{663}",
    ]);
    prop::collection::vec(parts, 0..40).prop_map(|it| it.concat())
}

/// Generates texts with the markers of answers.
fn answers() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "Answer",
        "FINAL",
        ":",
        "(",
        "A",
        "j",
        " ",
        "\n",
        "\\boxed{",
        "{",
        "}",
        "12",
        "9999999999999999999999",
        ",",
        ".",
        "-",
        "**",
        "['",
        "']",
        "```",
        "```python",
        "py",
        "<|channel|>final",
        "<|message|>",
        "<|return|>",
        "The answer is",
        "Answer: ",
        "|",
        "\u{131}",
        "\u{17f}",
        "\u{663}",
        "\u{4e2d}",
    ]);
    prop::collection::vec(parts, 0..20).prop_map(|it| it.concat())
}

fn solid(text: &str) -> String {
    text.chars().filter(|it| !it.is_whitespace() && !('\u{1c}'..='\u{1f}').contains(it)).collect()
}

proptest! {
    #[test]
    fn sentences_are_the_text_without_some_white_space(text in prop_oneof![texts(), any::<String>()]) {
        let tables = Punkt::parse("dr\np.m\n", "word\n", "b\tword\n", "word\t82\na\t4\n");
        let sentences = tables.map(|it| it.sentences(&text).into_iter().map(str::to_owned).collect::<Vec<_>>());
        let sentences = sentences.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(sentences.iter().all(|it| !it.is_empty()));
        prop_assert_eq!(solid(&sentences.concat()), solid(&text));
    }

    #[test]
    fn rouge_is_a_share_and_turns_around(a in texts(), b in texts()) {
        let (there, back) = (rouge::score(&a, &b, true), rouge::score(&b, &a, true));
        for (it, turned) in [(there.rouge1, back.rouge1), (there.rouge2, back.rouge2), (there.rouge_l, back.rouge_l)] {
            prop_assert_eq!((it.precision, it.recall), (turned.recall, turned.precision));
        }
        for it in [there.rouge1, there.rouge2, there.rouge_l, there.rouge_lsum] {
            prop_assert!((0.0..=1.0).contains(&it.f_measure));
        }
        let same = rouge::score(&a, &a, true);
        let expected = if rouge::tokens(&a, true).is_empty() { 0.0 } else { 1.0 };
        prop_assert_eq!((same.rouge1.f_measure, same.rouge_l.f_measure), (expected, expected));
    }

    #[test]
    fn every_text_has_an_answer_or_none(text in prop_oneof![answers(), any::<String>()], other in answers()) {
        for last in [LastLetter::D, LastLetter::J] {
            let letters = [deepseek_letter(&text, last), gpt_oss_letter(&text, last)];
            // In Python, the upper case of U+0130 is U+0130 itself.
            let are_choices = letters.into_iter().flatten().all(|it| ('A'..='J').contains(&it) || it == '\u{130}');
            prop_assert!(are_choices, "{letters:?}");
        }
        prop_assert!(aime_answer(&text).is_none_or(|it| it <= 999));
        prop_assert!(boxed(&text).is_none_or(|it| text.contains(it)));
        prop_assert!(gsm8k_number(&text).is_none_or(|it| !it.contains(',')));
        prop_assert!(deepseek_code(&text).is_none_or(|it| text.contains(it)));
        prop_assert!(gpt_oss_code(&text).is_none_or(|it| text.contains(it)));
        prop_assert!((0.0..=100.0).contains(&niah_em(&other, &text)));
        prop_assert!([0.0, 100.0].contains(&qa_em(&other, &text)));
        prop_assert!(clean_up(&text).len() <= text.len());
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in any::<Vec<u8>>()) {
        for element in [Element::Int32, Element::Int64, Element::Float32] {
            if let Ok(ids) = token_ids(&bytes, element) {
                prop_assert!(ids.len() <= bytes.len() / 4);
            }
        }
    }
}
