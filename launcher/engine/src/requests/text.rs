//! Prompt texts with about a given number of tokens.
//!
//! Words are common English words. Each of them, with the space before it, is one token in the vocabularies of GPT-2,
//! Llama, Qwen and related models. Prose is cut from a passage of such words, in which a punctuation mark is a token
//! too. No tokenizer is used: the server's usage tells the real length, and the report counts the misses.

use std::sync::LazyLock;

use rand::{Rng, RngExt as _};

/// One word a line.
const WORDS_FILE: &str = include_str!("words.txt");
/// Paragraphs, whose lines are joined.
const PROSE_FILE: &str = include_str!("prose.txt");

static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| WORDS_FILE.split_ascii_whitespace().collect());
static PROSE: LazyLock<Prose> = LazyLock::new(|| Prose::new(PROSE_FILE));

/// Random words before prose. There are about 10^12 such beginnings, so that even ten million requests hardly share
/// one.
const BEGINNING: u32 = 4;

/// Appends `tokens` random words, with a space before them unless `text` is empty.
pub(super) fn words(tokens: u32, rng: &mut impl Rng, text: &mut String) {
    let words = &*WORDS;
    for _ in 0..tokens {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(words[rng.random_range(0..words.len())]);
    }
}

/// Appends `tokens` words and punctuation marks of the passage, from a random place on. After its end the passage
/// starts again. A space comes first unless `text` is empty.
pub(super) fn prose(tokens: u32, rng: &mut impl Rng, text: &mut String) {
    let prose = &*PROSE;
    let mut left = tokens as usize;
    let mut place = prose.starts[rng.random_range(0..prose.starts.len())];
    while left > 0 {
        let end = (place + left).min(prose.pieces.len());
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(prose.slice(place, end));
        left -= end - place;
        place = 0;
    }
}

/// Prose after a few random words: the passage alone has only a few thousand beginnings, which many requests would
/// share.
pub(super) fn fresh_prose(tokens: u32, rng: &mut impl Rng, text: &mut String) {
    let first = tokens.min(BEGINNING);
    words(first, rng, text);
    prose(tokens - first, rng, text);
}

/// A passage on one line.
struct Prose {
    text: String,
    /// Where each word and each punctuation mark begins.
    pieces: Vec<usize>,
    /// The pieces that are words, with which a text can begin.
    starts: Vec<usize>,
}

impl Prose {
    fn new(passage: &str) -> Prose {
        let words: Vec<&str> = passage.split_ascii_whitespace().collect();
        let text = words.join(" ");
        let (mut pieces, mut starts) = (Vec::new(), Vec::new());
        let mut in_word = false;
        for (at, letter) in text.char_indices() {
            let is_letter = letter.is_alphanumeric();
            if is_letter && !in_word {
                starts.push(pieces.len());
            }
            if (is_letter && !in_word) || !(is_letter || letter == ' ') {
                pieces.push(at);
            }
            in_word = is_letter;
        }
        Prose { text, pieces, starts }
    }

    /// The pieces from one index to another, without the space after the last.
    fn slice(&self, from: usize, to: usize) -> &str {
        let end = self.pieces.get(to).copied().unwrap_or(self.text.len());
        self.text[self.pieces[from]..end].trim_end()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::requests::draws;
    use crds::units::Seed;

    fn check(make: fn(u32, &mut rand_chacha::ChaCha8Rng, &mut String), tokens: u32, seed: u64) -> String {
        let mut text = String::new();
        make(tokens, &mut draws(Seed(seed), 0), &mut text);
        text
    }

    /// Counts words and marks in a different way than the code does.
    fn count(text: &str) -> usize {
        let marks = text.chars().filter(|it| !it.is_alphanumeric() && *it != ' ').count();
        marks + text.split(|it: char| !it.is_alphanumeric()).filter(|it| !it.is_empty()).count()
    }

    #[test]
    fn the_words_are_many_different_and_plain() {
        let words = &*WORDS;
        assert!(words.len() > 500, "{}", words.len());
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
        assert!(words.iter().all(|it| it.bytes().all(|it| it.is_ascii_lowercase())));
    }

    #[test]
    fn the_prose_is_long_and_needs_no_escapes() {
        assert!(PROSE.starts.len() > 2_000, "{}", PROSE.starts.len());
        assert!(PROSE.text.bytes().all(|it| it.is_ascii() && it >= b' ' && it != b'"' && it != b'\\'));
    }

    #[test]
    fn a_text_has_as_many_pieces_as_were_asked() {
        for tokens in [0, 1, 2, 17, 1_000, 20_000] {
            for seed in 0..5 {
                assert_eq!(count(&check(words, tokens, seed)), tokens as usize, "words");
                assert_eq!(count(&check(prose, tokens, seed)), tokens as usize, "prose");
                assert_eq!(count(&check(fresh_prose, tokens, seed)), tokens as usize, "fresh prose");
            }
        }
    }

    #[test]
    fn texts_of_different_draws_differ_from_the_beginning() {
        let first = |make: fn(u32, &mut rand_chacha::ChaCha8Rng, &mut String)| {
            (0..50).map(|seed| check(make, 6, seed)).collect::<BTreeSet<_>>().len()
        };
        assert!(first(words) == 50 && first(prose) > 45);
    }

    #[test]
    fn a_text_goes_on_behind_what_stands_there() {
        let mut text = "System.".to_owned();
        words(2, &mut draws(Seed(1), 0), &mut text);
        assert!(text.starts_with("System. ") && text.split(' ').count() == 3, "{text}");
    }
}
