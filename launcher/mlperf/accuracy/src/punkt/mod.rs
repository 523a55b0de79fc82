//! Splits English text into sentences as `sent_tokenize` of NLTK 3.8.1 does. Pure.
//!
//! Sources: T. Kiss and J. Strunk, "Unsupervised Multilingual Sentence Boundary Detection", Computational Linguistics 32(4), 2006, and
//! `nltk/tokenize/punkt.py` of NLTK 3.8.1, the version that MLPerf requires. NLTK 3.10 also treats curly quotes as closing punctuation; this module
//! does not.
//!
//! The tables are not part of this crate, because the licence of their data is unclear. The caller passes them to [`Punkt::read`].

mod tables;
mod words;

pub use tables::{FILES, Punkt, PunktError, TableFile};

use crate::chars::is_space;

/// Whether a character is punctuation that ends a word: NLTK's `_re_non_word_chars`.
const fn ends_word(it: char) -> bool {
    matches!(it, ')' | '"' | ';' | '}' | ']' | '*' | ':' | '@' | '\'' | '(' | '{' | '[' | '?' | '!')
}

/// Whether a character is in NLTK's `string.whitespace`.
const fn is_ascii_space(it: char) -> bool {
    matches!(it, '\t'..='\r' | ' ')
}

/// A position where a sentence can end. Positions count characters.
#[derive(Clone, Copy)]
struct Candidate {
    /// The position of the `.`, `?` or `!` of the candidate.
    at: usize,
    /// The start of the word before `at`.
    word: usize,
    /// The end of the context, which follows the character at `at`. The context is either one punctuation mark, or white space and the characters
    /// after it up to the next white space.
    after: usize,
    /// The start of the characters after the white space of the context; `None` if the context is a punctuation mark.
    run: Option<usize>,
}

impl Punkt {
    /// Returns the sentences of a text, without the white space between them. Takes time linear in the length of the text.
    pub fn sentences<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let chars: Vec<char> = text.chars().collect();
        let mut bytes: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        bytes.push(text.len());
        let slices = self.slices(&chars);
        realigned(&chars, &slices).into_iter().map(|(start, end)| &text[bytes[start]..bytes[end]]).collect()
    }

    /// NLTK's `_slices_from_text`.
    fn slices(&self, text: &[char]) -> Vec<(usize, usize)> {
        let mut slices = Vec::new();
        let mut start = 0;
        for it in tested(text) {
            if self.has_break(&text[it.word..it.after]) {
                slices.push((start, it.at + 1));
                start = it.run.unwrap_or(it.at + 1);
            }
        }
        let trailing = text.iter().rev().take_while(|it| is_space(**it)).count();
        slices.push((start, text.len() - trailing));
        slices
    }
}

/// NLTK's `period_context_re`.
fn candidates(text: &[char]) -> impl Iterator<Item = Candidate> {
    text.iter().enumerate().filter(|(_, it)| matches!(it, '.' | '?' | '!')).filter_map(|(at, _)| {
        let next = *text.get(at + 1)?;
        if ends_word(next) {
            return Some(Candidate { at, word: 0, after: at + 2, run: None });
        }
        let run = at + 1 + text[at + 1..].iter().take_while(|it| is_space(**it)).count();
        let length = text[run..].iter().take_while(|it| !is_space(**it)).count();
        let found = Candidate { at, word: 0, after: run + length, run: Some(run) };
        (run > at + 1 && length > 0).then_some(found)
    })
}

/// Returns the candidates to test, each with the word before it: NLTK's `_match_potential_end_contexts`. If a word contains several candidates, only
/// the last one is returned.
fn tested(text: &[char]) -> Vec<Candidate> {
    let mut tested = Vec::new();
    let mut before: Option<Candidate> = None;
    for mut it in candidates(text) {
        let (start, end) = before.map_or((0, 0), |it| (it.word, it.at));
        let space = text[end..it.at].iter().rposition(|it| is_ascii_space(*it)).filter(|at| *at > 0);
        it.word = space.map_or(start, |at| end + at + 1);
        tested.extend(before.filter(|before| before.at <= it.word));
        before = Some(it);
    }
    tested.extend(before);
    tested
}

/// Moves closing punctuation to the end of the previous sentence: NLTK's `_realign_boundaries`.
fn realigned(text: &[char], slices: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut sentences = Vec::new();
    let mut moved = 0;
    for (index, (start, end)) in slices.iter().enumerate() {
        let start = start + moved;
        moved = 0;
        let mut end = *end;
        let next = slices.get(index + 1);
        if let Some((next, (closing, all))) = next.and_then(|(next, end)| Some((next, closing(&text[*next..*end])?))) {
            end = next + closing;
            moved = all;
        }
        if start < end {
            sentences.push((start, end));
        }
    }
    sentences
}

/// Returns the number of closing punctuation marks at the start of a sentence, and the number of characters in these marks and the white space after
/// them. `None` if no marks belong to the previous sentence. NLTK's `re_boundary_realignment`.
fn closing(sentence: &[char]) -> Option<(usize, usize)> {
    let signs = sentence.iter().take_while(|it| matches!(it, '"' | '\'' | ')' | ']' | '}')).count();
    let rest = &sentence[signs..];
    let spaces = rest.iter().take_while(|it| is_space(**it)).count();
    let belongs = signs > 0 && (spaces > 0 || rest.is_empty() || rest.starts_with(&['-', '-']));
    belongs.then_some((signs, signs + spaces))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small tables in the format of NLTK's files.
    fn punkt() -> Punkt {
        Punkt::parse("dr\ne.g\np.m\nu.s\n", "however\n", "st\tlouis\n", "they\t82\nsmith\t4\n").unwrap()
    }

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(punkt().sentences(text), expected);
    }

    #[test]
    fn sentences_end_at_their_signs() {
        check("One came. Two went! Three?  Four\n", &["One came.", "Two went!", "Three?", "Four"]);
        check("", &[]);
        check(" \n", &[]);
        check("no end", &["no end"]);
    }

    #[test]
    fn abbreviations_do_not_end_sentences() {
        check("Dr. Smith left.", &["Dr. Smith left."]);
        check("It was 5 p.m. They left.", &["It was 5 p.m.", "They left."]);
        check("In the U.S. However it was.", &["In the U.S.", "However it was."]);
    }

    #[test]
    fn closing_signs_move_back() {
        check("He said \"No.\" Then (so.) he left.", &["He said \"No.\"", "Then (so.)", "he left."]);
        check("Wow!!! Ok", &["Wow!!!", "Ok"]);
    }

    #[test]
    fn initials_and_collocations_join() {
        check("In St. Louis it rained.", &["In St. Louis it rained."]);
        check("J. Bach came.", &["J. Bach came."]);
    }

    #[test]
    fn sentences_keep_their_inner_newlines() {
        check("One\nend. Two\nends", &["One\nend.", "Two\nends"]);
    }
}
