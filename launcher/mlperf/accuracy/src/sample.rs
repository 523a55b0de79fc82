//! Scores the answer to one sample. Pure.

use serde::Serialize;

use crate::{
    answers::{self, LastLetter},
    benchmark::{Benchmark, Check},
    chars::strip,
    punkt::Punkt,
    rouge,
};

/// The expected answer to a sample, from the data set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The expected text; empty if it is missing.
    pub text: String,
    /// The kind of the row; empty if the data set does not distinguish kinds.
    pub kind: String,
    /// Whether the data set has no row with this sample's label.
    pub is_missing: bool,
}

/// The score of one answer: one line in the file of scores.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleScore {
    /// Sequence number of the log line.
    pub seq_id: u64,
    /// Index of the sample.
    pub qsl_idx: u64,
    /// Number of token ids in the answer before decoding, including special tokens; `None` if it is unknown.
    pub tokens: Option<u64>,
    /// The kind of the row; empty if the data set does not distinguish kinds.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dataset: String,
    /// Length of the answer in code points, with its sentences joined by newlines; `None` if it is not split into sentences.
    pub characters: Option<u64>,
    #[serde(flatten)]
    pub figures: Figures,
    /// The check that computed the figures.
    #[serde(skip)]
    pub check: Option<Check>,
}

/// The figures of a sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Figures {
    /// F-measures, each from 0 to 1.
    Rouge {
        /// ROUGE-1.
        rouge1: f64,
        /// ROUGE-2.
        rouge2: f64,
        /// ROUGE-L.
        #[serde(rename = "rougeL")]
        rouge_l: f64,
        /// ROUGE-Lsum; `None` if Punkt's tables are missing.
        #[serde(rename = "rougeLsum", skip_serializing_if = "Option::is_none")]
        rouge_lsum: Option<f64>,
    },
    /// The ROUGE-L figure of llama3.1-405b.
    RougeL {
        /// The F-measure, times 100.
        #[serde(rename = "rougeL")]
        rouge_l: f64,
    },
    /// How much of the expected answer was found.
    ExactMatch {
        /// Percentage; `None` if it was not computed because Punkt's tables are missing.
        exact_match: Option<f64>,
    },
    /// An answer that is correct or wrong.
    Answer {
        correct: bool,
        /// The extracted answer; `None` if the text contains none.
        extracted: Option<String>,
    },
    /// A program, which is not run.
    Program {
        /// The extracted program; `None` if the text contains none.
        extracted: Option<String>,
    },
}

/// Prepares a text for ROUGE as the reference does: removes surrounding white space, and joins its sentences with newlines. Source:
/// `postprocess_text` of the accuracy scripts.
pub fn joined(text: &str, punkt: &Punkt) -> String {
    punkt.sentences(strip(text)).join("\n")
}

/// Returns the figures of an answer, and its length in code points if it was split into sentences. Without Punkt's tables, three values are missing:
/// ROUGE-Lsum, the length, and the exact matches of llama3.1-405b. The other figures do not depend on the tables.
pub fn score(
    benchmark: Benchmark,
    check: Check,
    text: &str,
    expected: &str,
    punkt: Option<&Punkt>,
) -> (Figures, Option<u64>) {
    if let Some(figures) = compared(benchmark, check, text, expected) {
        return (figures, None);
    }
    let both = punkt.map(|it| (joined(text, it), joined(expected, it)));
    let (predicted, wanted) = both.as_ref().map_or((text, expected), |(a, b)| (a.as_str(), b.as_str()));
    let characters = both.as_ref().map(|(predicted, _)| predicted.chars().count() as u64);
    let of_sentences = |score: fn(&str, &str) -> f64| both.as_ref().map(|_| score(wanted, predicted));
    let figures = match check {
        Check::NiahEm => Figures::ExactMatch { exact_match: of_sentences(answers::niah_em) },
        Check::QaEm => Figures::ExactMatch { exact_match: of_sentences(answers::qa_em) },
        Check::RougeL => Figures::RougeL { rouge_l: rouge::score(predicted, wanted, true).rouge_l.f_measure * 100.0 },
        _ => {
            let scores = rouge::score(predicted, wanted, true);
            Figures::Rouge {
                rouge1: scores.rouge1.f_measure,
                rouge2: scores.rouge2.f_measure,
                rouge_l: scores.rouge_l.f_measure,
                rouge_lsum: both.is_some().then_some(scores.rouge_lsum.f_measure),
            }
        }
    };
    (figures, characters)
}

/// Returns the figures of an answer by a check that does not split it into sentences; `None` for other checks.
fn compared(benchmark: Benchmark, check: Check, text: &str, expected: &str) -> Option<Figures> {
    let is_gpt_oss = benchmark == Benchmark::GptOss120b;
    let figures = match check {
        Check::Rouge | Check::RougeL | Check::NiahEm | Check::QaEm => return None,
        Check::Gsm8k => Figures::Answer {
            correct: answers::gsm8k_is_correct(text, expected),
            extracted: answers::gsm8k_number(text),
        },
        Check::LettersToD => letter(is_gpt_oss, text, expected, LastLetter::D),
        Check::LettersToJ => letter(is_gpt_oss, text, expected, LastLetter::J),
        Check::Math500 => {
            let found = answers::boxed(text);
            let correct = found.is_some_and(|it| answers::same_math(it, expected));
            Figures::Answer { correct, extracted: found.map(str::to_owned) }
        }
        Check::Exact => Figures::Answer { correct: strip(text) == strip(expected), extracted: None },
        Check::Mbxp => Figures::Program { extracted: Some(answers::mbxp_code(text, false)) },
        Check::LiveCodeBench => {
            let code = if is_gpt_oss { answers::gpt_oss_code(text) } else { answers::deepseek_code(text) };
            Figures::Program { extracted: code.map(str::to_owned) }
        }
        Check::Aime => {
            let found = answers::aime_answer(text);
            let correct = found.is_some_and(|it| answers::same_integer(it, expected));
            Figures::Answer { correct, extracted: found.map(|it| it.to_string()) }
        }
    };
    Some(figures)
}

fn letter(is_gpt_oss: bool, text: &str, expected: &str, last: LastLetter) -> Figures {
    let found = if is_gpt_oss { answers::gpt_oss_letter(text, last) } else { answers::deepseek_letter(text, last) };
    let found = found.map(|it| it.to_string());
    let correct = found.as_ref().is_some_and(|it| it.is_ascii() && *it == expected.to_uppercase());
    Figures::Answer { correct, extracted: found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tables_sentences_are_not_guessed() {
        let (figures, characters) = score(Benchmark::Llama3_1_8b, Check::Rouge, "A. B.", "A. B.", None);
        assert!(matches!(figures, Figures::Rouge { rouge1: 1.0, rouge_lsum: None, .. }), "{figures:?}");
        assert_eq!(characters, None);
        let (figures, _) = score(Benchmark::Llama3_1_405b, Check::QaEm, "A", "A", None);
        assert_eq!(figures, Figures::ExactMatch { exact_match: None });
    }

    #[test]
    fn an_answer_is_compared_without_case_of_the_expected_one() {
        let (figures, _) = score(Benchmark::DeepseekR1, Check::LettersToD, "Answer: b", "b", None);
        assert_eq!(figures, Figures::Answer { correct: true, extracted: Some("B".into()) });
        let (figures, _) = score(Benchmark::DeepseekR1, Check::LettersToD, "", "", None);
        assert_eq!(figures, Figures::Answer { correct: false, extracted: None });
    }

    #[test]
    fn a_score_is_one_flat_object() {
        let score = SampleScore {
            seq_id: 1,
            qsl_idx: 2,
            tokens: Some(3),
            dataset: String::new(),
            characters: Some(4),
            figures: Figures::Rouge { rouge1: 0.5, rouge2: 0.0, rouge_l: 1.0, rouge_lsum: None },
            check: Some(Check::Rouge),
        };
        let expected = r#"{"seq_id":1,"qsl_idx":2,"tokens":3,"characters":4,"rouge1":0.5,"rouge2":0.0,"rougeL":1.0}"#;
        assert_eq!(serde_json::to_string(&score).unwrap(), expected);
    }
}
