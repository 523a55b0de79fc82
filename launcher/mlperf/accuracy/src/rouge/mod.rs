//! ROUGE-1, -2, -L and -Lsum, bit for bit as the Python package `rouge_score` 0.1.2 computes them. Pure.
//!
//! Sources: `rouge_score/rouge_scorer.py` and `tokenize.py`, and C.-Y. Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004.

mod lcs;
pub mod porter;

use std::collections::HashMap;

/// Only tokens longer than this, in characters, are stemmed. Source: `rouge_score/tokenize.py`.
const UNSTEMMED: usize = 3;

/// One ROUGE figure of a pair of texts. Each value is from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// The share of the prediction that also occurs in the expected text.
    pub precision: f64,
    /// The share of the expected text that also occurs in the prediction.
    pub recall: f64,
    /// The harmonic mean of precision and recall, `2·p·r / (p + r)`; 0 if both are 0.
    pub f_measure: f64,
}

impl Score {
    /// Computes `hits / predicted` and `hits / expected`. If a divisor is 0, it is replaced by 1. Source: `_score_ngrams` and `fmeasure` of
    /// `rouge_score/scoring.py`.
    fn from_counts(hits: usize, predicted: usize, expected: usize) -> Score {
        let (precision, recall) = (hits as f64 / predicted.max(1) as f64, hits as f64 / expected.max(1) as f64);
        let sum = precision + recall;
        let f_measure = if sum > 0.0 { 2.0 * precision * recall / sum } else { 0.0 };
        Score { precision, recall, f_measure }
    }
}

/// All ROUGE figures of a pair of texts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// ROUGE-1, of single tokens.
    pub rouge1: Score,
    /// ROUGE-2, of pairs of adjacent tokens.
    pub rouge2: Score,
    /// ROUGE-L, of a longest common subsequence of all tokens.
    pub rouge_l: Score,
    /// ROUGE-Lsum, of longest common subsequences of sentences. A newline ends a sentence.
    pub rouge_lsum: Score,
}

/// Computes the figures of a prediction and an expected text. The texts are not preprocessed. `stem` states whether to stem the tokens, as MLPerf's
/// check does. Needs time proportional to the product of both lengths, and one bit of memory per pair of tokens in the longest sentence of each text.
pub fn score(prediction: &str, expected: &str, stem: bool) -> Scores {
    let mut ids = HashMap::new();
    let mut read = |text: &str| Tokens::read(text, stem, &mut ids);
    let (predicted, expected) = (read(prediction), read(expected));
    let n_grams = |n: usize| {
        let (a, b) = (predicted.n_grams(n), expected.n_grams(n));
        Score::from_counts(common(&a, &b), a.len(), b.len())
    };
    let of_both = |hits| Score::from_counts(hits, predicted.all.len(), expected.all.len());
    Scores {
        rouge1: n_grams(1),
        rouge2: n_grams(2),
        rouge_l: of_both(lcs::length(&expected.all, &predicted.all)),
        rouge_lsum: of_both(union_hits(&predicted, &expected, ids.len())),
    }
}

/// Returns the tokens of a text: in lower case, split at every character outside `a` to `z` and `0` to `9`. With `stem`, tokens of more
/// than 3 characters are stemmed. Source: `rouge_score/tokenize.py`.
pub fn tokens(text: &str, stem: bool) -> Vec<String> {
    let mut tokens = Vec::new();
    each_token(text, stem, |it| tokens.push(it.to_owned()));
    tokens
}

fn each_token(text: &str, stem: bool, mut use_token: impl FnMut(&str)) {
    let mut token = String::new();
    let mut end = |token: &mut String| {
        if stem && token.len() > UNSTEMMED {
            *token = porter::stem(token);
        }
        if !token.is_empty() {
            use_token(token);
        }
        token.clear();
    };
    let mut add = |it: char| match it {
        'a'..='z' | '0'..='9' => token.push(it),
        _ => end(&mut token),
    };
    for it in text.chars() {
        match it {
            _ if it.is_ascii() => add(it.to_ascii_lowercase()),
            // Unicode's full case mapping is used: U+0130 becomes an i and a combining dot above.
            _ => it.to_lowercase().for_each(&mut add),
        }
    }
    add(' ');
}

/// The tokens of a text. Equal tokens have equal numbers.
struct Tokens {
    all: Vec<u32>,
    /// The end of each sentence, as an index into `all`.
    ends: Vec<usize>,
}

impl Tokens {
    fn read(text: &str, stem: bool, ids: &mut HashMap<String, u32>) -> Tokens {
        let mut tokens = Tokens { all: Vec::new(), ends: Vec::new() };
        for sentence in text.split('\n').filter(|it| !it.is_empty()) {
            each_token(sentence, stem, |token| {
                let id = ids.get(token).copied().unwrap_or_else(|| {
                    let id = ids.len() as u32;
                    ids.insert(token.to_owned(), id);
                    id
                });
                tokens.all.push(id);
            });
            tokens.ends.push(tokens.all.len());
        }
        tokens
    }

    fn sentences(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.all[start..*end])
    }

    /// Returns the sorted n-grams. `n` is 1 or 2.
    fn n_grams(&self, n: usize) -> Vec<u64> {
        let number = |it: &[u32]| it.iter().fold(0, |number, token| (number << 32) | u64::from(*token));
        let mut found: Vec<u64> = self.all.windows(n).map(number).collect();
        found.sort_unstable();
        found
    }
}

/// Returns the number of common elements of two sorted multisets.
fn common(a: &[u64], b: &[u64]) -> usize {
    let (mut i, mut j, mut hits) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        (hits, i, j) = match x.cmp(y) {
            std::cmp::Ordering::Less => (hits, i + 1, j),
            std::cmp::Ordering::Greater => (hits, i, j + 1),
            std::cmp::Ordering::Equal => (hits + 1, i + 1, j + 1),
        };
    }
    hits
}

/// Returns the hits of ROUGE-Lsum: `_summary_level_lcs` of `rouge_scorer.py`. In each expected sentence, a position counts if it belongs to the
/// sentence's longest common subsequence with any predicted sentence. A token counts at most as often as it occurs in each of the two texts.
fn union_hits(predicted: &Tokens, expected: &Tokens, ids: usize) -> usize {
    let counts = |tokens: &[u32]| {
        let mut counts = vec![0_u32; ids];
        tokens.iter().for_each(|it| counts[*it as usize] += 1);
        counts
    };
    let (mut of_predicted, mut of_expected) = (counts(&predicted.all), counts(&expected.all));
    let mut hits = 0;
    for sentence in expected.sentences() {
        let mut taken = vec![false; sentence.len()];
        predicted.sentences().for_each(|it| lcs::mark(sentence, it, &mut taken));
        for token in sentence.iter().zip(taken).filter(|(_, taken)| *taken).map(|(token, _)| *token as usize) {
            if of_predicted[token] > 0 && of_expected[token] > 0 {
                of_predicted[token] -= 1;
                of_expected[token] -= 1;
                hits += 1;
            }
        }
    }
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_and_signs_separate_tokens() {
        assert_eq!(tokens("caf\u{e9}_x Running", true), ["caf", "x", "run"]);
        assert_eq!(tokens("\u{212a}elvin \u{130}n", false), ["kelvin", "i", "n"]);
        assert!(tokens("...", true).is_empty());
    }

    #[test]
    fn texts_without_tokens_score_nothing() {
        assert_eq!(score("", "", true), Scores::default());
        assert_eq!(score("...", "...", true), Scores::default());
        assert_eq!(score("a", "", true), Scores::default());
    }

    #[test]
    fn one_equal_token_has_no_pair() {
        let scores = score("word", "word", true);
        assert_eq!((scores.rouge1.f_measure, scores.rouge2.f_measure), (1.0, 0.0));
    }

    #[test]
    fn lengths_stand_below_the_line() {
        let scores = score("the cat sat", "the cat", false);
        assert_eq!((scores.rouge1.precision, scores.rouge1.recall), (2.0 / 3.0, 1.0));
        assert_eq!(scores.rouge2.precision, 0.5);
    }

    #[test]
    fn sentences_in_another_order_cost_rouge_l_and_not_lsum() {
        let scores = score("a b c\nd e f", "d e f\na b c", false);
        assert_eq!((scores.rouge_l.f_measure, scores.rouge_lsum.f_measure), (0.5, 1.0));
    }
}
