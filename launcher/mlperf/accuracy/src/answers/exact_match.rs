//! The two exact-match metrics of llama3.1-405b. Pure. Source: `niah_em` and `qa_em` of llama3.1-405b/evaluate-accuracy.py.

use crate::{
    chars::{is_space, is_word},
    figures,
};

/// The lengths of an identifier's parts, which hyphens separate.
const PARTS: [usize; 5] = [8, 4, 4, 4, 12];

/// Returns the share of hidden identifiers that were found, in percent with two decimals. Expected and predicted identifiers are paired in order.
/// Each pair has a score: the share of expected **characters** that occur anywhere in the predicted identifier, ignoring case. The result is the sum
/// of these scores divided by the number of predicted identifiers; 0 if there are none.
pub fn niah_em(expected: &str, predicted: &str) -> f64 {
    let (expected, predicted) = (identifiers(expected), identifiers(predicted));
    let share = |(wanted, found): (&String, &String)| {
        let found = found.to_lowercase();
        let hits = wanted.chars().filter(|it| found.contains(&it.to_lowercase().collect::<String>())).count();
        hits as f64 / wanted.chars().count() as f64
    };
    if predicted.is_empty() {
        return 0.0;
    }
    let sum = expected.iter().zip(&predicted).map(share).fold(0.0, |sum, it| sum + it);
    figures::round(sum / predicted.len() as f64 * 100.0, 2)
}

/// Returns all matches of `\w{8}-\w{4}-\w{4}-\w{4}-\w{12}`, from left to right.
fn identifiers(text: &str) -> Vec<String> {
    let text: Vec<char> = text.chars().collect();
    let length = PARTS.iter().sum::<usize>() + PARTS.len() - 1;
    let mut found = Vec::new();
    let mut at = 0;
    while at + length <= text.len() {
        let it = &text[at..at + length];
        let mut parts = it.split(|it| *it == '-');
        let fits = PARTS
            .iter()
            .all(|length| parts.next().is_some_and(|it| it.len() == *length && it.iter().all(|it| is_word(*it))));
        if fits && parts.next().is_none() {
            found.push(it.iter().collect());
            at += length;
        } else {
            at += 1;
        }
    }
    found
}

/// Returns 100 if an answer matches one of the expected texts, which are separated by `|`; otherwise 0. The answer is the text after the last
/// `Answer: `, or the whole text without that mark. It matches if an expected text contains it, so an empty answer matches.
pub fn qa_em(expected: &str, predicted: &str) -> f64 {
    let answer = predicted.rsplit_once("Answer: ").map_or(predicted, |(_, it)| it);
    let plain = |text: &str| text.chars().filter(|it| !is_space(*it)).collect::<String>().to_lowercase();
    let plain_answer = plain(answer);
    let has_any = || expected.split('|').any(|it| plain_answer.contains(&plain(it)));
    if expected.contains(answer) || has_any() { 100.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_compared_by_their_characters() {
        let (a, b) = ("aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa", "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb");
        assert_eq!(niah_em(a, &a.to_uppercase()), 100.0);
        // Of the 36 characters, only the four hyphens are found.
        assert_eq!(niah_em(a, b), 11.11);
        assert_eq!(niah_em(a, &format!("{a} {b}")), 50.0);
        assert_eq!(niah_em(a, "none"), 0.0);
    }

    #[test]
    fn an_answer_counts_when_either_has_the_other() {
        assert_eq!(qa_em("the Vale|1987", "Answer: no. Answer: The  vale!"), 100.0);
        assert_eq!(qa_em("the Vale", "Answer: "), 100.0);
        assert_eq!(qa_em("the Vale", "Answer: Vale of x"), 0.0);
    }
}
