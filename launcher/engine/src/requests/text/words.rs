//! Common English words, and texts made of words.

use std::sync::LazyLock;

use rand::{Rng, RngExt as _};

/// One word per line.
const WORDS_FILE: &str = include_str!("../words.txt");

pub(super) static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| WORDS_FILE.split_ascii_whitespace().collect());

/// Appends `words` random words. A space precedes them unless `text` is empty.
pub(in crate::requests) fn words(words: u32, rng: &mut impl Rng, text: &mut String) {
    let all = &*WORDS;
    for _ in 0..words {
        push_word(all[rng.random_range(0..all.len())], text);
    }
}

/// Appends one or more words. A space precedes them unless `text` is empty.
pub(super) fn push_word(word: &str, text: &mut String) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(word);
}
