//! Characters and white space as Python defines them, because the reference programs depend on Python's rules. Pure.
//!
//! Unicode's tables come from the crate `unicode-general-category`. They are newer than those of Python 3.10 (Unicode 13), so a character that was
//! added since then can have another class.

use unicode_general_category::{GeneralCategory as Category, get_general_category as category};

/// Whether a character is white space for `str.isspace` and for `\s` of `re`. In addition to Rust's white space, this includes U+001C to U+001F.
pub(crate) fn is_space(it: char) -> bool {
    matches!(it, '\t'..='\r' | '\u{1c}'..='\u{20}' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
        | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// Whether a character matches `\d` of `re`: the digits of all scripts.
pub(crate) fn is_digit(it: char) -> bool {
    it.is_ascii_digit() || (!it.is_ascii() && category(it) == Category::DecimalNumber)
}

/// Whether a character matches `\w` of `re`: letters, numbers of every kind, and `_`.
pub(crate) fn is_word(it: char) -> bool {
    if it.is_ascii() {
        return it.is_ascii_alphanumeric() || it == '_';
    }
    matches!(
        category(it),
        Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter
            | Category::DecimalNumber
            | Category::LetterNumber
            | Category::OtherNumber
    )
}

/// Returns the value of a digit, 0 to 9; `None` if it is not a digit. In Unicode, the digits of a script are consecutive and begin with
/// zero.
pub(crate) fn digit(it: char) -> Option<u32> {
    if it.is_ascii() {
        return it.to_digit(10);
    }
    let before = |it: &u32| char::from_u32(it - 1).filter(|it| is_digit(*it)).map(u32::from);
    is_digit(it).then(|| (std::iter::successors(Some(u32::from(it)), before).count() as u32 - 1) % 10)
}

/// Python's `str.strip`.
pub(crate) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Whether two letters are equal under `re.IGNORECASE`. `lower` is a letter from `a` to `z`. In Python, i equals U+0130 and U+0131, s equals U+017F,
/// and k equals U+212A.
pub(crate) fn is_letter_ignoring_case(it: char, lower: char) -> bool {
    let folded = match it {
        '\u{130}' | '\u{131}' => 'i',
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        _ => it.to_ascii_lowercase(),
    };
    folded == lower
}

/// Whether a character matches `[A-Za-z]` under `re.IGNORECASE`.
pub(crate) fn is_latin_letter(it: char) -> bool {
    it.is_ascii_alphabetic() || matches!(it, '\u{130}' | '\u{131}' | '\u{17f}' | '\u{212a}')
}

/// Whether `\b` of `re` matches before the character at `at`.
pub(crate) fn is_boundary(text: &[char], at: usize) -> bool {
    let word = |at: Option<usize>| at.and_then(|it| text.get(it)).is_some_and(|it| is_word(*it));
    word(at.checked_sub(1)) != word(Some(at))
}

/// Whether `word` is in the text at `at`. `word` consists of the letters `a` to `z` and punctuation. Letters are compared as under `re.IGNORECASE`.
pub(crate) fn stands_at(text: &[char], at: usize, word: &str) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    rest.len() >= word.len() && word.chars().zip(rest).all(|(wanted, found)| is_letter_ignoring_case(*found, wanted))
}

/// Returns the first position from `at` on that is not white space.
pub(crate) fn skip_space(text: &[char], at: usize) -> usize {
    at + text.get(at..).unwrap_or_default().iter().take_while(|it| is_space(**it)).count()
}

/// Parses a text as Python's `float` does; `None` where Python raises `ValueError`.
pub(crate) fn float(text: &str) -> Option<f64> {
    let text: Vec<char> = strip(text).chars().collect();
    let mut plain = String::with_capacity(text.len());
    for (at, found) in text.iter().enumerate() {
        let digit_at = |at: Option<usize>| at.and_then(|it| text.get(it)).is_some_and(|it| is_digit(*it));
        match digit(*found) {
            Some(value) => plain.push(char::from_digit(value, 10)?),
            // Python allows a single underscore between two digits.
            None if *found == '_' && digit_at(at.checked_sub(1)) && digit_at(Some(at + 1)) => {}
            None => plain.push(*found),
        }
    }
    plain.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_other_scripts_have_values() {
        // Digits in Arabic, Devanagari, full width, and the five sets of mathematical digits, which are adjacent.
        for (it, value) in
            [('7', 7), ('\u{663}', 3), ('\u{96f}', 9), ('\u{ff10}', 0), ('\u{1d7d8}', 0), ('\u{1d7ff}', 9)]
        {
            assert_eq!(digit(it), Some(value), "{it}");
        }
        assert_eq!((digit('a'), digit('\u{bd}')), (None, None));
    }

    #[test]
    fn words_have_letters_and_numbers_and_no_marks() {
        assert!(['a', '_', '9', '\u{e9}', '\u{bd}', '\u{2167}', '\u{660}', '\u{4e2d}'].into_iter().all(is_word));
        // None of these is a word character, including a combining accent, a circled letter and a currency sign.
        assert!(!['-', ' ', '\u{301}', '\u{24b6}', '\u{20ac}'].into_iter().any(is_word));
    }

    #[test]
    fn numbers_are_read_as_python_reads_them() {
        let cases = [("1_000", Some(1000.0)), (" 3.5\n", Some(3.5)), ("\u{663}", Some(3.0)), ("-.5", Some(-0.5))];
        for (text, value) in cases.into_iter().chain([("1,000", None), ("_1", None), ("", None), ("1__0", None)]) {
            assert_eq!(float(text), value, "{text}");
        }
    }
}
