//! Extracts the letter of a multiple-choice answer. Pure.
//!
//! Sources: `parse_multiple_choice` of deepseek-r1/eval_accuracy.py and of gpt-oss-120b/eval_accuracy.py. Their regular expressions (with
//! `re.IGNORECASE`) are implemented by hand, because Python's character classes differ from those of Rust's crates.

use super::gpt_oss_final_part;
use crate::chars::{is_boundary, is_latin_letter, is_space, skip_space, stands_at, strip};

/// The last letter that a question offers as a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastLetter {
    /// Four choices: GPQA, MMLU.
    D,
    /// Ten choices: MMLU-Pro.
    J,
}

impl LastLetter {
    /// Returns the letter in upper case if it is a choice. When Python ignores case, U+0130 and U+0131 also match the letter I. The upper case of
    /// U+0130 is U+0130 itself.
    fn choice(self, it: char) -> Option<char> {
        let last = match self {
            LastLetter::D => 'D',
            LastLetter::J => 'J',
        };
        match it {
            '\u{131}' if last == 'J' => Some('I'),
            '\u{130}' if last == 'J' => Some(it),
            _ => Some(it.to_ascii_uppercase()).filter(|it| ('A'..=last).contains(it)),
        }
    }
}

/// Returns the letter of an answer by the rules of deepseek-r1: the last letter after `ANSWER` or `FINAL ANSWER`. If there is none, and the question
/// has ten choices, returns the last letter that is a separate word.
pub fn deepseek_letter(text: &str, last: LastLetter) -> Option<char> {
    let text: Vec<char> = unescaped(unwrapped(strip(text))).chars().collect();
    labelled(&text, last).or_else(|| (last == LastLetter::J).then(|| alone(&text, last)).flatten())
}

/// Returns the letter of an answer by the rules of gpt-oss-120b. These look at the final part first: at its first letter if that is a separate word,
/// otherwise at the letter after the first `Answer`. If neither exists, the rules of [`deepseek_letter`] apply to the whole text, but their last step
/// only to the final part.
pub fn gpt_oss_letter(text: &str, last: LastLetter) -> Option<char> {
    let text = strip(text);
    let part = without_bold(gpt_oss_final_part(text));
    let part: Vec<char> = unescaped(unwrapped(&part)).chars().collect();
    let whole: Vec<char> = unescaped(text).chars().collect();
    first(&part, last)
        .or_else(|| after_answer(&part, last))
        .or_else(|| labelled(&whole, last))
        .or_else(|| (last == LastLetter::J).then(|| alone(&part, last)).flatten())
}

/// Returns the first capital letter from A to D that is a separate word. Used for MMLU answers in free form.
pub fn first_capital(text: &str) -> Option<char> {
    let text: Vec<char> = text.chars().collect();
    let mut found = text.iter().enumerate().filter(|(_, it)| matches!(it, 'A'..='D'));
    found.find(|(at, _)| is_boundary(&text, *at) && is_boundary(&text, at + 1)).map(|(_, it)| *it)
}

/// Removes the brackets and quotes of a Python list that contains one string.
fn unwrapped(text: &str) -> &str {
    let starts = text.starts_with("['") || text.starts_with("[\"");
    let ends = text.ends_with("']") || text.ends_with("\"]");
    // Slicing by bytes is safe, because the four removed characters are ASCII. Like Python's slice, it is empty if the text is shorter than four.
    if starts && ends { strip(text.get(2..text.len() - 2).unwrap_or_default()) } else { text }
}

fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\'", "'")
}

/// Removes the marks around `**bold**` parts. A bold part contains no `*`.
fn without_bold(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("**") {
        let inner = &rest[at + 2..];
        match inner.find('*') {
            Some(length) if length > 0 && inner[length..].starts_with("**") => {
                plain.push_str(&rest[..at]);
                plain.push_str(&inner[..length]);
                rest = &inner[length + 2..];
            }
            _ => {
                plain.push_str(&rest[..=at]);
                rest = &rest[at + 1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// Returns the last letter after `ANSWER` or `FINAL ANSWER`. Between word and letter can be `:` or `=` and a bracket. No other letter can follow.
fn labelled(text: &[char], last: LastLetter) -> Option<char> {
    const ANSWER: &str = "answer";
    (0..text.len()).rev().filter(|at| stands_at(text, *at, ANSWER)).find_map(|at| {
        let end = at + ANSWER.len();
        let begins = is_boundary(text, at) || final_stands_before(text, at);
        let at = skip(text, skip_space(text, end), &[':', '=']);
        let at = skip_space(text, skip(text, skip_space(text, at), &['(']));
        let letter = last.choice(*text.get(at)?)?;
        let ends = text.get(at + 1).is_none_or(|it| !is_latin_letter(*it));
        (begins && is_boundary(text, end) && ends).then_some(letter)
    })
}

/// Whether the word `FINAL` precedes `at`, with or without white space in between.
fn final_stands_before(text: &[char], at: usize) -> bool {
    const FINAL: &str = "final";
    let spaces = text[..at].iter().rev().take_while(|it| is_space(**it)).count();
    (at - spaces).checked_sub(FINAL.len()).is_some_and(|at| stands_at(text, at, FINAL) && is_boundary(text, at))
}

/// Returns the last letter that is a separate word.
fn alone(text: &[char], last: LastLetter) -> Option<char> {
    let mut found = (0..text.len()).rev().filter(|at| is_boundary(text, *at) && is_boundary(text, at + 1));
    found.find_map(|at| last.choice(text[at]))
}

/// Returns the first letter in the text if it is a choice and no letter follows it.
fn first(text: &[char], last: LastLetter) -> Option<char> {
    let at = text.iter().position(|it| is_latin_letter(*it))?;
    last.choice(text[at]).filter(|_| text.get(at + 1).is_none_or(|it| !is_latin_letter(*it)))
}

/// Returns the letter after the first `Answer` that has one, with `:` or `.` in between. The letter must be the end of a word.
fn after_answer(text: &[char], last: LastLetter) -> Option<char> {
    const ANSWER: &str = "answer";
    (0..text.len()).filter(|at| stands_at(text, *at, ANSWER) && is_boundary(text, *at)).find_map(|at| {
        let at = skip(text, skip_space(text, at + ANSWER.len()), &[':', '.']);
        let at = skip_space(text, at);
        last.choice(*text.get(at)?).filter(|_| is_boundary(text, at + 1))
    })
}

/// Skips one character if it is among `signs`.
fn skip(text: &[char], at: usize, signs: &[char]) -> usize {
    at + usize::from(text.get(at).is_some_and(|it| signs.contains(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deepseek_takes_the_last_label() {
        let check = |text: &str, d: Option<char>, j: Option<char>| {
            assert_eq!((deepseek_letter(text, LastLetter::D), deepseek_letter(text, LastLetter::J)), (d, j), "{text}");
        };
        check("ANSWER: A, no, ANSWER = (b)", Some('B'), Some('B'));
        check("FINALANSWER: C", Some('C'), Some('C'));
        check("MYANSWER: C", None, Some('C'));
        check("Answer: Cat", None, None);
        check("['Answer: D']", Some('D'), Some('D'));
        check("Answer: \u{131}", None, Some('I'));
        // When case is ignored, the long s (U+017F) matches the letter S.
        check("An\u{17f}wer: B", Some('B'), Some('B'));
        check("Answer: B\u{17f}", None, None);
        check("", None, None);
        check("['", None, None);
    }

    #[test]
    fn gpt_oss_takes_the_first_letter_of_its_final_part() {
        let check =
            |text: &str, expected: Option<char>| assert_eq!(gpt_oss_letter(text, LastLetter::D), expected, "{text}");
        check("<|channel|>analysis<|message|>Answer: A<|channel|>final<|message|>**C**<|return|>", Some('C'));
        check("It is so. Answer.B", Some('B'));
        check("Think. ANSWER = (D)", Some('D'));
        check("Perhaps A", None);
    }

    #[test]
    fn bold_marks_go_in_pairs() {
        assert_eq!(without_bold("**a** **b *c** x"), "a **b *c** x");
        assert_eq!(without_bold("**b *c** **"), "**b *c ");
        assert_eq!(without_bold("***x***"), "*x*");
    }

    #[test]
    fn a_capital_stands_alone() {
        assert_eq!((first_capital("A1 (C) B"), first_capital("Dare")), (Some('C'), None));
    }
}
