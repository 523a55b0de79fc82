//! Decides whether a sentence ends at a candidate, from the words around it. Pure.
//!
//! Source: `_word_tokenize_fmt`, `_first_pass_annotation`, `_second_pass_annotation` and `_ortho_heuristic` of NLTK 3.8.1.

use super::{Punkt, ends_word};
use crate::chars::{is_digit, is_space, is_word};

/// The type of all words that are numbers.
const NUMBER: &str = "##number##";

// The bits of `ortho_context.tab`. A word occurs in upper case (UC) or lower case (LC), and at the beginning of a sentence, within one, or at an
// unknown place.
const BEGINNING_LOWER: u8 = 16;
const WITHIN_UPPER: u8 = 4;
const UPPER: u8 = 2 | 4 | 8;
const LOWER: u8 = 16 | 32 | 64;

/// Whether a character cannot start a word: NLTK's `_re_word_start` excludes it.
const fn starts_no_word(it: char) -> bool {
    matches!(it, '(' | '"' | '`' | '{' | '[' | ':' | ';' | '&' | '#' | '*' | '@' | ')' | '}' | ']' | '-' | ',')
}

/// A word in the context of a candidate.
struct Word {
    text: Vec<char>,
    /// The type of the word: the word in lower case, or [`NUMBER`].
    kind: String,
    is_break: bool,
    is_abbreviation: bool,
    is_ellipsis: bool,
}

/// Whether the case of a word's first letter shows that it begins a sentence.
#[derive(PartialEq)]
enum Beginning {
    Yes,
    No,
    Unknown,
}

impl Punkt {
    /// Whether a sentence ends before the last word of a context: NLTK's `text_contains_sentbreak`.
    pub(super) fn has_break(&self, context: &[char]) -> bool {
        let mut words: Vec<Word> = split(context).into_iter().map(|it| self.first_pass(it)).collect();
        for index in 1..words.len() {
            let (before, after) = words.split_at_mut(index);
            if let (Some(word), Some(next)) = (before.last_mut(), after.first()) {
                self.second_pass(word, next);
            }
        }
        words.pop();
        words.iter().any(|it| it.is_break)
    }

    fn first_pass(&self, text: &[char]) -> Word {
        let (mut is_break, mut is_abbreviation, mut is_ellipsis) = (false, false, false);
        match text {
            ['.' | '?' | '!'] => is_break = true,
            _ if text.iter().all(|it| *it == '.') => is_ellipsis = true,
            [stem @ .., '.'] if stem.last() != Some(&'.') => {
                let stem = lower(stem);
                let part = stem.rsplit('-').next().unwrap_or_default();
                is_abbreviation = self.abbreviations.contains(&stem) || self.abbreviations.contains(part);
                is_break = !is_abbreviation;
            }
            _ => {}
        }
        Word { text: text.to_vec(), kind: kind(text), is_break, is_abbreviation, is_ellipsis }
    }

    fn second_pass(&self, word: &mut Word, next: &Word) {
        if word.text.last() != Some(&'.') {
            return;
        }
        let kind = without_period(&word.kind).to_owned();
        let next_kind = next.kind_in_sentence();
        if self.collocations.contains(&(kind.clone(), next_kind.to_owned())) {
            (word.is_break, word.is_abbreviation) = (false, true);
            return;
        }
        let is_initial = matches!(word.text.as_slice(), [it, '.'] if is_word(*it) && !is_digit(*it));
        let begins = self.beginning(next);
        let next_is_upper = next.text.first().is_some_and(|it| it.is_uppercase());
        let is_starter = || next_is_upper && self.starters.contains(next_kind);
        let is_short = (word.is_abbreviation || word.is_ellipsis) && !is_initial;
        if is_short && (begins == Beginning::Yes || is_starter()) {
            word.is_break = true;
            return;
        }
        let always_upper = || self.orthography_of(next_kind) & LOWER == 0;
        let of_name = || begins == Beginning::Unknown && is_initial && next_is_upper && always_upper();
        if (is_initial || kind == NUMBER) && (begins == Beginning::No || of_name()) {
            (word.is_break, word.is_abbreviation) = (false, true);
        }
    }

    fn beginning(&self, word: &Word) -> Beginning {
        let bits = self.orthography_of(word.kind_in_sentence());
        match word.text.as_slice() {
            [';' | ':' | ',' | '.' | '!' | '?'] => Beginning::No,
            [first, ..] if first.is_uppercase() && bits & LOWER != 0 && bits & WITHIN_UPPER == 0 => Beginning::Yes,
            [first, ..] if first.is_lowercase() && (bits & UPPER != 0 || bits & BEGINNING_LOWER == 0) => Beginning::No,
            _ => Beginning::Unknown,
        }
    }

    fn orthography_of(&self, kind: &str) -> u8 {
        self.orthography.get(kind).copied().unwrap_or_default()
    }
}

impl Word {
    /// The type without a period that ends the sentence.
    fn kind_in_sentence(&self) -> &str {
        if self.is_break { without_period(&self.kind) } else { &self.kind }
    }
}

fn without_period(kind: &str) -> &str {
    kind.strip_suffix('.').filter(|it| !it.is_empty()).unwrap_or(kind)
}

fn lower(text: &[char]) -> String {
    text.iter().collect::<String>().to_lowercase()
}

/// Returns the type of a word: NLTK's `_get_type` with `_RE_NUMERIC`: `^-?[\.,]?\d[\d,\.-]*\.?$`.
fn kind(text: &[char]) -> String {
    let rest = text.strip_prefix(&['-']).unwrap_or(text);
    let rest = rest.strip_prefix(&['.']).or_else(|| rest.strip_prefix(&[','])).unwrap_or(rest);
    let is_number = match rest {
        [first, rest @ ..] => is_digit(*first) && rest.iter().all(|it| is_digit(*it) || matches!(it, ',' | '.' | '-')),
        [] => false,
    };
    if is_number { NUMBER.to_owned() } else { lower(text) }
}

/// Splits a context into words, line by line.
fn split(context: &[char]) -> Vec<&[char]> {
    let mut words = Vec::new();
    for line in context.split(|it| *it == '\n') {
        let mut at = 0;
        while let Some(first) = line.get(at) {
            let length = match multi(line, at) {
                _ if is_space(*first) => 0,
                Some(length) => length,
                None if starts_no_word(*first) => 1,
                None => 1 + (at + 1..line.len()).take_while(|it| !is_word_end(line, *it)).count(),
            };
            words.extend((length > 0).then(|| &line[at..at + length]));
            at += length.max(1);
        }
    }
    words
}

/// Whether a word ends before the character at `at`.
fn is_word_end(line: &[char], at: usize) -> bool {
    let hard = |at: usize| match line.get(at) {
        None => true,
        Some(it) => is_space(*it) || ends_word(*it) || multi(line, at).is_some(),
    };
    hard(at) || (line[at] == ',' && hard(at + 1))
}

/// Returns the length of the match of NLTK's `_re_multi_char_punct` at `at`: several `-`, several `.`, or three or more `.` that are separated by one
/// white space each.
fn multi(line: &[char], at: usize) -> Option<usize> {
    let rest = &line[at..];
    let of = |sign: char| Some(rest.iter().take_while(|it| **it == sign).count()).filter(|it| *it >= 2);
    let spaced = || {
        let pairs = rest.chunks(2).take_while(|it| matches!(it, ['.', space] if is_space(*space))).count();
        // If the period of the last pair is missing, the run ends one pair earlier.
        let pairs = if rest.get(2 * pairs) == Some(&'.') { pairs } else { pairs.saturating_sub(1) };
        (pairs >= 2).then_some(2 * pairs + 1)
    };
    match rest.first()? {
        '-' => of('-'),
        '.' => of('.').or_else(spaced),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let text: Vec<char> = text.chars().collect();
        let found: Vec<String> = split(&text).into_iter().map(|it| it.iter().collect()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn words_are_split_as_nltk_does() {
        check("He said, 'No.' -- ok...", &["He", "said", ",", "'No.", "'", "--", "ok", "..."]);
        check("1,000, (x) a,b", &["1,000", ",", "(", "x", ")", "a,b"]);
        check("a. . . b\n\n c", &["a", ". . .", "b", "c"]);
        check(". . . .", &[". . . ."]);
        check(". . x", &[".", ".", "x"]);
    }

    #[test]
    fn numbers_have_one_type() {
        for (text, number) in [("1,000.", true), ("-.5", true), ("\u{663}", true), ("1a", false), (".", false)] {
            let text: Vec<char> = text.chars().collect();
            assert_eq!(kind(&text) == NUMBER, number, "{text:?}");
        }
    }
}
