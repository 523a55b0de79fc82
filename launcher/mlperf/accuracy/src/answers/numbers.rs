//! Extracts and compares numbers in answers. Pure.

use crate::chars::{digit, float, is_boundary, is_digit, is_space, skip_space, stands_at, strip};

/// The largest answer of an AIME question.
const MAX_AIME: u64 = 999;

/// Returns the final number of an answer to GSM8K, without commas; `None` if there is none. The text is cut at the first line that begins with `Q:`.
/// The final number is the first one after the last `The answer is`; without that text, it is the last number. Source: `postprocess_text` and
/// `find_number` of mixtral-8x7b/evaluate-accuracy.py.
pub fn gsm8k_number(text: &str) -> Option<String> {
    let text = text.split("\nQ:").next().unwrap_or(text);
    let named = text.rsplit_once("The answer is").and_then(|(_, rest)| numbers(rest).into_iter().next());
    let number = named.or_else(|| numbers(text).pop())?;
    Some(number.replace(',', ""))
}

/// Whether an answer to GSM8K is the expected number. As in the reference, commas are removed only from the answer. So an expected `1,000` is not a
/// number, and every answer to it is wrong.
pub fn gsm8k_is_correct(text: &str, expected: &str) -> bool {
    let number = gsm8k_number(text).and_then(|it| float(&it));
    number.is_some_and(|it| float(expected) == Some(it))
}

/// Returns all matches of `-?[\d,]*\.?\d+`, from left to right.
fn numbers(text: &str) -> Vec<String> {
    let text: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match number_end(&text, at) {
            Some(end) => {
                found.push(text[at..end].iter().collect());
                at = end;
            }
            None => at += 1,
        }
    }
    found
}

/// Returns the end of the number that starts at `at`.
fn number_end(text: &[char], at: usize) -> Option<usize> {
    let digits = |at: usize| text[at..].iter().take_while(|it| is_digit(**it)).count();
    let start = at + usize::from(text[at] == '-');
    let run = text[start..].iter().take_while(|it| is_digit(**it) || **it == ',').count();
    let end = start + run;
    if text.get(end) == Some(&'.') && digits(end + 1) > 0 {
        return Some(end + 1 + digits(end + 1));
    }
    // The number must end in a digit, so trailing commas are excluded.
    let last = text[start..end].iter().rposition(|it| is_digit(*it))?;
    Some(start + last + 1)
}

/// Returns the final integer of an answer to an AIME question: the last `\boxed{digits}` or, if there is none, the last digits after `Answer:`.
/// `None` if neither exists, or if the integer exceeds 999. Source: `parse_aime_answer` of deepseek-r1/eval_accuracy.py.
pub fn aime_answer(text: &str) -> Option<u64> {
    let text: Vec<char> = strip(text).chars().collect();
    let from_the_end = || (0..text.len()).rev();
    let digits = from_the_end()
        .find_map(|at| boxed_digits(&text, at))
        .or_else(|| from_the_end().find_map(|at| answer_digits(&text, at)))?;
    whole(digits).filter(|it| *it <= MAX_AIME)
}

/// Returns the digits of `\boxed{digits}` at `at`. White space around the digits is allowed.
fn boxed_digits(text: &[char], at: usize) -> Option<&[char]> {
    const BOXED: [char; 7] = ['\\', 'b', 'o', 'x', 'e', 'd', '{'];
    let start = skip_space(text, at + text[at..].starts_with(&BOXED).then_some(BOXED.len())?);
    let end = start + text[start..].iter().take_while(|it| is_digit(**it)).count();
    (end > start && text.get(skip_space(text, end)) == Some(&'}')).then(|| &text[start..end])
}

/// Returns the digits of `Answer: digits` at `at`. They must end a word, and no decimal point can follow.
fn answer_digits(text: &[char], at: usize) -> Option<&[char]> {
    const ANSWER: &str = "answer:";
    let start = stands_at(text, at, ANSWER).then(|| skip_space(text, at + ANSWER.len()))?;
    let end = start + text[start..].iter().take_while(|it| is_digit(**it)).count();
    (end > start && text.get(end) != Some(&'.') && is_boundary(text, end)).then(|| &text[start..end])
}

/// Returns the value of digits, or the type's maximum if the value is larger.
fn whole(digits: impl IntoIterator<Item = impl std::borrow::Borrow<char>>) -> Option<u64> {
    digits
        .into_iter()
        .try_fold(0_u64, |value, it| Some(value.saturating_mul(10).saturating_add(u64::from(digit(*it.borrow())?))))
}

/// Whether an integer equals the expected one, which is parsed as Python's `int` does.
pub fn same_integer(found: u64, expected: &str) -> bool {
    let expected = strip(expected);
    let digits = expected.strip_prefix('+').unwrap_or(expected);
    !digits.is_empty() && whole(digits.chars()) == Some(found)
}

/// Returns the content of the last `\boxed{…}`, up to the matching brace, without surrounding white space. Source: `parse_boxed_math` of
/// deepseek-r1/eval_accuracy.py.
pub fn boxed(text: &str) -> Option<&str> {
    let (_, rest) = strip(text).rsplit_once("\\boxed{")?;
    let mut depth = 0_usize;
    for (at, it) in rest.char_indices() {
        match it {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(strip(&rest[..at])),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Whether two mathematical expressions are equal as text, after parts without meaning are removed: white space, `$`, `\left`, `\right`, `\!`, `\,`,
/// `\;`, degree and percent signs, a final period, and the size of fractions. The reference uses PRM800K's grader, which also recognises equivalent
/// expressions in different forms. So this figure differs from the reference's, and never exceeds it by much.
pub fn same_math(found: &str, expected: &str) -> bool {
    let (found, expected) = (plain_math(found), plain_math(expected));
    !found.is_empty() && found == expected
}

fn plain_math(text: &str) -> String {
    let mut plain: String = text.chars().filter(|it| !is_space(*it)).collect();
    let signs = ["\\left", "\\right", "\\!", "\\,", "\\;", "^{\\circ}", "^\\circ", "\\$", "$", "\\%", "%"];
    for sign in signs {
        plain = plain.replace(sign, "");
    }
    plain = plain.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac");
    plain.strip_suffix('.').map(str::to_owned).unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_gsm8k_is_the_named_one_or_the_last() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(gsm8k_number(text).as_deref(), expected, "{text}");
        check("The answer is 1,234. Or 5?", Some("1234"));
        check("2 and 3\nQ: 4", Some("3"));
        check("The answer is none; 7", Some("7"));
        check("1,", Some("1"));
        check("1.", Some("1"));
        check("- , .", None);
        check("1.2.3", Some(".3"));
    }

    #[test]
    fn an_expected_number_with_a_comma_is_wrong() {
        assert!(gsm8k_is_correct("The answer is 1,000", "1000"));
        assert!(!gsm8k_is_correct("The answer is 1,000", "1,000"));
        assert!(gsm8k_is_correct("18.0", " 18 "));
        assert!(!gsm8k_is_correct("", "18"));
    }

    #[test]
    fn aime_has_three_digits_at_most() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(aime_answer(text), expected, "{text}");
        check("\\boxed{ 042 } Answer: 7", Some(42));
        check("\\boxed{1000} Answer: 7", None);
        check("Answer: 7.5", None);
        check("Answer: 7\nanswer:8", Some(8));
        check("Answer: 7a", None);
        check("Answer: 99999999999999999999999", None);
    }

    #[test]
    fn integers_are_compared_by_value() {
        assert!(same_integer(7, " 007\n") && same_integer(7, "+7"));
        assert!(!same_integer(7, "7.0") && !same_integer(0, "") && !same_integer(0, "+") && !same_integer(7, "-7"));
    }

    #[test]
    fn boxes_have_their_braces() {
        assert_eq!(boxed("\\boxed{1} \\boxed{\\frac{1}{2} }"), Some("\\frac{1}{2}"));
        assert_eq!((boxed("\\boxed{1"), boxed("1")), (None, None));
    }

    #[test]
    fn mathematics_is_compared_as_text() {
        assert!(same_math("\\dfrac{1}{2}.", "$\\frac{1}{2}$"));
        assert!(!same_math("0.5", "\\frac{1}{2}"));
        assert!(!same_math("", ""));
    }
}
