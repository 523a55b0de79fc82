//! Scores the answers of an accuracy log. Pure: the caller reads the log and decodes tokens.
//!
//! Several threads score the answers in batches. Memory contains the answers of one batch, eight bytes per figure and sample, and the numbers of all
//! samples so far. Scores are returned in the order of the log.

mod outcome;
mod totals;

use std::{borrow::Cow, collections::HashSet};

pub use outcome::{KindOutcome, Outcome, Value};
use totals::Totals;

use crate::{
    benchmark::Benchmark,
    in_parallel,
    log::{Element, TokenError, token_ids},
    punkt::Punkt,
    sample::{self, Expected, SampleScore},
};

/// Maximum number of answers per batch.
const BATCH: usize = 512;
/// Maximum total size of a batch, in bytes. The last answer of a batch can exceed it.
const BATCH_BYTES: usize = 16 << 20;

/// A line of an accuracy log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogLine {
    pub seq_id: u64,
    /// Index of the sample.
    pub qsl_idx: u64,
    pub answer: Answer,
}

/// An answer in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Token ids as LoadGen recorded them. [`Scorer::element`] is their type.
    Data(Vec<u8>),
    /// The text that the server sent.
    Text {
        /// The whole text.
        text: String,
        /// Number of tokens; `None` if the server did not send their ids.
        tokens: Option<u64>,
    },
}

impl Default for Answer {
    fn default() -> Answer {
        Answer::Data(Vec::new())
    }
}

impl Answer {
    /// Returns the size in bytes.
    fn len(&self) -> usize {
        match self {
            Answer::Data(data) => data.len(),
            Answer::Text { text, .. } => text.len(),
        }
    }
}

/// The reason why answers cannot be scored.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError<E: std::error::Error + 'static> {
    /// The log cannot be read.
    #[error(transparent)]
    Log(E),
    /// The log contains an answer to a sample that does not exist.
    #[error("the accuracy log answers sample {sample}, and the data set has {rows} rows; give the data set of the run")]
    Sample {
        /// Index of the sample, from 0.
        sample: u64,
        /// Number of rows in the data set.
        rows: usize,
    },
    /// A row is of a kind that the benchmark has no check for.
    #[error(
        "row {row} of the data set, from 0, is of the kind {kind:?}, which {benchmark} has no check for; give the data set of {benchmark}"
    )]
    Kind {
        /// Index of the row, from 0.
        row: u64,
        /// The kind as named in the data set.
        kind: String,
        /// The benchmark's name.
        benchmark: &'static str,
    },
    /// The data of an answer cannot be converted to token ids.
    #[error("the answer to sample {sample} {cause}")]
    Tokens {
        /// Index of the sample, from 0.
        sample: u64,
        /// What is wrong.
        cause: TokenError,
    },
    /// The token ids of an answer cannot be decoded to a text.
    #[error("the answer to sample {sample} cannot be decoded: {cause}")]
    Decode {
        /// Index of the sample, from 0.
        sample: u64,
        /// The decoder's error.
        cause: String,
    },
    /// The log contains no answer that can be scored.
    #[error("the accuracy log has no answer to a sample of the data set; give the log and the data set of one run")]
    Empty,
    /// The caller's function failed to process a score.
    #[error("cannot write the score of sample {sample}: {cause}")]
    Write {
        /// Index of the sample, from 0.
        sample: u64,
        /// The error that the function returned.
        cause: std::io::Error,
    },
}

/// Scores the answers of a log. The fields are its inputs.
#[derive(Clone, Copy, Debug)]
pub struct Scorer<'a> {
    /// The benchmark, which selects the checks.
    pub benchmark: Benchmark,
    /// The expected answers, indexed by sample.
    pub expected: &'a [Expected],
    /// The tables for splitting sentences. With `None`, figures that need them are not computed.
    pub punkt: Option<&'a Punkt>,
    /// Type of the numbers in the log.
    pub element: Element,
    /// Number of threads that score, at least 1.
    pub threads: usize,
}

impl Scorer<'_> {
    /// Scores the answers of a log, and adds up the scores. `decode` converts token ids to text, on several threads. `each` receives the
    /// score of each sample, in the order of the log. Only the first answer to a sample counts, unless the benchmark repeats questions on
    /// purpose.
    ///
    /// # Errors
    /// The log, `decode` or `each` fails; an answer belongs to no sample or has invalid token ids; or no answer can be scored.
    pub fn score<E: std::error::Error + Send + 'static>(
        &self,
        log: impl IntoIterator<Item = Result<LogLine, E>>,
        decode: impl Fn(&[u32]) -> Result<String, String> + Sync,
        mut each: impl FnMut(&SampleScore) -> std::io::Result<()>,
    ) -> Result<Outcome, ScoreError<E>> {
        let mut totals = Totals::new(self.benchmark);
        let mut seen = HashSet::new();
        let mut batch: Vec<LogLine> = Vec::with_capacity(BATCH);
        let mut bytes = 0;
        let mut log = log.into_iter();
        loop {
            let next = log.next().transpose().map_err(ScoreError::Log)?;
            let ends = next.is_none();
            if let Some(line) = next {
                totals.lines += 1;
                let row = usize::try_from(line.qsl_idx).ok().and_then(|it| self.expected.get(it));
                if row.is_none_or(|it| it.is_missing) {
                    if !self.benchmark.skips_unknown_samples() {
                        return Err(ScoreError::Sample { sample: line.qsl_idx, rows: self.expected.len() });
                    }
                    totals.unknown += 1;
                } else if seen.insert(line.qsl_idx) || self.benchmark.counts_repeats() {
                    bytes += line.answer.len();
                    batch.push(line);
                } else {
                    totals.repeated += 1;
                }
            }
            if batch.len() >= BATCH || bytes >= BATCH_BYTES || ends {
                for score in in_parallel(&batch, self.threads, |line| self.score_line(line, &decode)) {
                    let score = score?;
                    each(&score).map_err(|cause| ScoreError::Write { sample: score.qsl_idx, cause })?;
                    totals.add(&score);
                }
                (batch, bytes) = (Vec::with_capacity(BATCH), 0);
            }
            if ends {
                break;
            }
        }
        totals.samples = seen.len() as u64;
        if totals.scored == 0 { Err(ScoreError::Empty) } else { Ok(totals.finish()) }
    }

    fn score_line<E: std::error::Error + 'static>(
        &self,
        line: &LogLine,
        decode: &impl Fn(&[u32]) -> Result<String, String>,
    ) -> Result<SampleScore, ScoreError<E>> {
        let LogLine { seq_id, qsl_idx: sample, answer } = line;
        let sample = *sample;
        let expected = &self.expected[sample as usize];
        let benchmark = self.benchmark;
        let check = benchmark.check(&expected.kind).ok_or_else(|| ScoreError::Kind {
            row: sample,
            kind: expected.kind.clone(),
            benchmark: benchmark.name(),
        })?;
        let (text, tokens) = match answer {
            Answer::Data(data) => {
                let ids = token_ids(data, self.element).map_err(|cause| ScoreError::Tokens { sample, cause })?;
                let text = decode(&ids).map_err(|cause| ScoreError::Decode { sample, cause })?;
                (Cow::Owned(text), Some(ids.len() as u64))
            }
            Answer::Text { text, tokens } => (Cow::Borrowed(text.as_str()), *tokens),
        };
        let (figures, characters) = sample::score(benchmark, check, &text, &expected.text, self.punkt);
        Ok(SampleScore {
            seq_id: *seq_id,
            qsl_idx: sample,
            tokens,
            dataset: expected.kind.clone(),
            characters,
            figures,
            check: Some(check),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::benchmark::Check;

    /// Creates a log in which each character of a text is one token.
    fn log(answers: &[(u64, &str)]) -> Vec<Result<LogLine, io::Error>> {
        let bytes = |text: &str| text.chars().flat_map(|it| u32::from(it).to_le_bytes()).collect();
        let line = |(seq_id, (qsl_idx, text)): (usize, &(u64, &str))| {
            Ok(LogLine { seq_id: seq_id as u64, qsl_idx: *qsl_idx, answer: Answer::Data(bytes(text)) })
        };
        answers.iter().enumerate().map(line).collect()
    }

    fn decode(ids: &[u32]) -> Result<String, String> {
        Ok(ids.iter().filter_map(|it| char::from_u32(*it)).collect())
    }

    fn expected(rows: &[(&str, &str)]) -> Vec<Expected> {
        rows.iter()
            .map(|(kind, text)| Expected { text: (*text).into(), kind: (*kind).into(), ..Expected::default() })
            .collect()
    }

    fn outcome(
        benchmark: Benchmark,
        rows: &[(&str, &str)],
        answers: &[(u64, &str)],
    ) -> (Result<Outcome, ScoreError<io::Error>>, Vec<u64>) {
        let punkt = Punkt::default();
        let expected = expected(rows);
        let scorer =
            Scorer { benchmark, expected: &expected, punkt: Some(&punkt), element: Element::Int32, threads: 2 };
        let mut order = Vec::new();
        let outcome = scorer.score(log(answers), decode, |it| {
            order.push(it.seq_id);
            Ok(())
        });
        (outcome, order)
    }

    #[test]
    fn the_first_answer_to_a_sample_counts() {
        let (outcome, order) =
            outcome(Benchmark::Llama3_1_8b, &[("", "a b"), ("", "c d")], &[(1, "c d"), (0, "a x"), (1, "nothing")]);
        let outcome = outcome.unwrap();
        assert_eq!((outcome.lines, outcome.scored, outcome.repeated, outcome.samples), (3, 2, 1, 2));
        assert_eq!((outcome.value("rouge1"), outcome.value("gen_len")), (Some(75.0), Some(6.0)));
        assert_eq!(order, [0, 1]);
    }

    #[test]
    fn an_answer_without_ids_has_no_tokens() {
        let expected = expected(&[("", "a b"), ("", "c d")]);
        let score = |tokens: [Option<u64>; 2]| {
            let benchmark = Benchmark::Plain(Check::Rouge);
            let scorer = Scorer { benchmark, expected: &expected, punkt: None, element: Element::Int32, threads: 1 };
            let line = |(sample, tokens): (u64, Option<u64>)| LogLine {
                seq_id: sample,
                qsl_idx: sample,
                answer: Answer::Text { text: "a b".into(), tokens },
            };
            let log = (0..).zip(tokens).map(|it| Ok::<_, io::Error>(line(it)));
            scorer.score(log, decode, |_| Ok(())).unwrap()
        };
        let known = score([Some(2), Some(4)]);
        assert_eq!((known.value("rouge1"), known.value("gen_tok_len")), (Some(50.0), Some(6.0)));
        assert_eq!((known.value("tokens_per_sample"), known.value("gen_len")), (Some(3.0), None));
        let unknown = score([Some(2), None]);
        assert_eq!((unknown.value("gen_num"), unknown.value("gen_tok_len")), (Some(2.0), None));
        assert!(unknown.missing.iter().any(|(key, _)| *key == "tokens_per_sample"));
    }

    #[test]
    fn gpt_oss_counts_every_line_by_its_data_set() {
        let rows = [("aime25", "7"), ("gpqa_diamond", "A")];
        let (outcome, _) =
            outcome(Benchmark::GptOss120b, &rows, &[(0, "\\boxed{7}"), (0, "\\boxed{8}"), (1, "A"), (9, "skipped")]);
        let outcome = outcome.unwrap();
        assert_eq!((outcome.scored, outcome.unknown), (3, 1));
        // (1/8 + 1/5) / (2/8 + 1/5), as a percentage
        assert_eq!(outcome.values[0].text, "72.222");
    }

    #[test]
    fn programs_leave_the_figure_open() {
        let (outcome, _) = outcome(
            Benchmark::DeepseekR1,
            &[("livecodebench", "x"), ("gpqa", "A")],
            &[(0, "```python\nx\n```"), (1, "A")],
        );
        let outcome = outcome.unwrap();
        assert_eq!(outcome.missing, [("exact_match", "programs that a model wrote are not run here")]);
        assert_eq!(outcome.kinds[0].correct, None);
        assert_eq!(outcome.value("num-samples"), Some(2.0));
    }

    #[test]
    fn bad_input_is_named() {
        let check = |benchmark, rows: &[(&str, &str)], answers: &[(u64, &str)], part: &str| {
            let error = outcome(benchmark, rows, answers).0.unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check(Benchmark::Llama2_70b, &[("", "a")], &[(7, "a")], "answers sample 7, and the data set has 1 rows");
        check(Benchmark::Mixtral8x7b, &[("other", "a")], &[(0, "a")], "is of the kind \"other\"");
        check(Benchmark::DeepseekR1, &[("gpqa", "a")], &[(7, "a")], "no answer to a sample");
        check(Benchmark::Llama3_1_8b, &[], &[], "no answer to a sample");
    }

    #[test]
    fn more_answers_than_a_batch_keep_their_order() {
        let rows: Vec<(&str, &str)> = vec![("", "a b c"); 3 * BATCH];
        let answers: Vec<(u64, &str)> = (0..rows.len() as u64).rev().map(|it| (it, "a b c")).collect();
        let (outcome, order) = outcome(Benchmark::Llama3_1_8b, &rows, &answers);
        assert_eq!(outcome.unwrap().value("rougeL"), Some(100.0));
        assert!(order.is_sorted() && order.len() == rows.len());
    }
}
