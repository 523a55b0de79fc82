//! Finds the letter that an answer to MMLU chooses. Pure.

use crate::answers::{LastLetter, deepseek_letter, first_capital};

/// The letter of each choice.
pub const LETTERS: [char; 4] = ['A', 'B', 'C', 'D'];
/// The log probability that the original assigns to a letter if it is not among the most probable tokens.
const ABSENT: f64 = -100.0;

/// Returns the letter with the highest log probability. Only tokens that are exactly one letter count, ignoring one leading mark for a space: a
/// space, U+2581 or U+0120. If a letter appears in two forms, the larger value counts. If letters have equal values, the first one wins. Returns
/// `None` if no letter appears, which counts as unanswered. The original would choose A.
pub fn from_log_probabilities<'a>(top: impl IntoIterator<Item = (&'a str, f64)>) -> Option<char> {
    let mut best: [Option<f64>; 4] = [None; 4];
    for (token, log_probability) in top {
        let token = token.strip_prefix([' ', '\u{2581}', '\u{120}']).unwrap_or(token);
        let found = LETTERS.iter().position(|it| token.len() == 1 && token.starts_with(*it));
        if let Some(best) = found.map(|it| &mut best[it]) {
            *best = Some(best.map_or(log_probability, |it| it.max(log_probability)));
        }
    }
    first_largest(best.into_iter().zip(LETTERS).filter_map(|(it, letter)| Some((letter, it?))))
}

/// Returns the letter that the authors' `evaluate.py` chooses. Only letters after a space count. A letter that is absent gets the value -100. So the
/// result is A if all letters are absent.
pub fn original_from_log_probabilities<'a>(top: impl IntoIterator<Item = (&'a str, f64)>) -> char {
    let mut of_letters = [ABSENT; 4];
    for (token, log_probability) in top {
        let found = LETTERS
            .iter()
            .position(|it| token.strip_prefix(' ').is_some_and(|rest| rest.len() == 1 && rest.starts_with(*it)));
        if let Some(index) = found {
            of_letters[index] = log_probability;
        }
    }
    first_largest(LETTERS.into_iter().zip(of_letters)).unwrap_or(LETTERS[0])
}

fn first_largest(letters: impl Iterator<Item = (char, f64)>) -> Option<char> {
    // `max_by` would return the last of several equal values, but the first is needed.
    let best = letters.reduce(|best, it| if it.1 > best.1 { it } else { best });
    best.map(|(letter, _)| letter)
}

/// Returns the letter in a generated text. It is the letter that [`deepseek_letter`] finds after the last `Answer` or, if there is none, the first
/// capital letter that is a separate word. `None` if there is neither, which counts as unanswered.
pub fn from_text(text: &str) -> Option<char> {
    deepseek_letter(text, LastLetter::D).or_else(|| first_capital(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_letter_count() {
        let top = [("A", -3.0), (" B", -2.0), ("\u{120}A", -1.0), ("\u{2581}C", -1.0), ("AB", -0.1), ("a", -0.2)];
        assert_eq!((from_log_probabilities(top), original_from_log_probabilities(top)), (Some('A'), 'B'));
        assert_eq!((from_log_probabilities([("x", 0.0)]), original_from_log_probabilities([("x", 0.0)])), (None, 'A'));
    }

    #[test]
    fn texts_have_a_label_or_a_capital() {
        assert_eq!(from_text("B. Answer: c"), Some('C'));
        assert_eq!((from_text(" D."), from_text("it is d"), from_text("")), (Some('D'), None, None));
    }
}
