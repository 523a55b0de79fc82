//! Scores the answers of an accuracy log against what was expected. Pure: the caller reads the log and decodes tokens.
//!
//! Answers are scored in batches on several threads. Kept are the answers of a batch, eight bytes a figure of each sample, and the set of
//! samples; scores are given out in the order of the log.

use std::collections::HashSet;

use crate::{
    benchmark::{Benchmark, Check},
    figures, in_parallel,
    log::{Element, TokenError, token_ids},
    punkt::Punkt,
    sample::{self, Expected, Figures, SampleScore},
};

/// The most answers of a batch.
const BATCH: usize = 512;
/// The most bytes of the answers of a batch, but for the last answer of it.
const BATCH_BYTES: usize = 16 << 20;

/// A line of an accuracy log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogLine {
    /// The sequence number.
    pub seq_id: u64,
    /// The sample.
    pub qsl_idx: u64,
    /// The answer as LoadGen recorded it.
    pub data: Vec<u8>,
}

/// Why answers cannot be scored.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError<E: std::error::Error + 'static> {
    /// The log cannot be read.
    #[error(transparent)]
    Log(E),
    /// An answer to a sample that is not there.
    #[error("the accuracy log answers sample {sample}, and the data set has {rows} rows; give the data set of the run")]
    Sample {
        /// From 0.
        sample: u64,
        /// Rows that there are.
        rows: usize,
    },
    /// A row of a kind without a check.
    #[error(
        "row {row} of the data set, from 0, is of the kind {kind:?}, which {benchmark} has no check for; give the data set of {benchmark}"
    )]
    Kind {
        /// From 0.
        row: u64,
        /// As in the data set.
        kind: String,
        /// The benchmark's name.
        benchmark: &'static str,
    },
    /// An answer that is no token ids.
    #[error("the answer to sample {sample} {cause}")]
    Tokens {
        /// From 0.
        sample: u64,
        /// What is wrong.
        cause: TokenError,
    },
    /// An answer that has no text.
    #[error("the answer to sample {sample} cannot be decoded: {cause}")]
    Decode {
        /// From 0.
        sample: u64,
        /// As the decoder says.
        cause: String,
    },
    /// Nothing to score.
    #[error("the accuracy log has no answer to a sample of the data set; give the log and the data set of one run")]
    Empty,
    /// The caller cannot use a score.
    #[error("cannot write the score of sample {sample}: {cause}")]
    Write {
        /// From 0.
        sample: u64,
        /// Of the system.
        cause: std::io::Error,
    },
}

/// What the answers of a log are scored with.
#[derive(Clone, Copy, Debug)]
pub struct Scorer<'a> {
    /// Which checks.
    pub benchmark: Benchmark,
    /// What was expected of each sample, by its index.
    pub expected: &'a [Expected],
    /// The tables that split sentences; `None`: what needs them is not computed.
    pub punkt: Option<&'a Punkt>,
    /// The type of the numbers in the log.
    pub element: Element,
    /// Threads that score, at least 1.
    pub threads: usize,
}

impl Scorer<'_> {
    /// Scores the answers of a log, and sums them up. `decode` turns token ids into text, on several threads; `each` takes the score of each
    /// sample, in the order of the log. The first answer to a sample counts, but where questions are repeated on purpose.
    ///
    /// # Errors
    /// The log, `decode` or `each` fails; an answer is to no sample, or is no token ids; nothing is left to score.
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
                if line.qsl_idx >= self.expected.len() as u64 {
                    if !self.benchmark.skips_unknown_samples() {
                        return Err(ScoreError::Sample { sample: line.qsl_idx, rows: self.expected.len() });
                    }
                    totals.unknown += 1;
                } else if seen.insert(line.qsl_idx) || self.benchmark.counts_repeats() {
                    bytes += line.data.len();
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
        let LogLine { seq_id, qsl_idx: sample, data } = line;
        let sample = *sample;
        let expected = &self.expected[sample as usize];
        let benchmark = self.benchmark;
        let check = benchmark.check(&expected.kind).ok_or_else(|| ScoreError::Kind {
            row: sample,
            kind: expected.kind.clone(),
            benchmark: benchmark.name(),
        })?;
        let ids = token_ids(data, self.element).map_err(|cause| ScoreError::Tokens { sample, cause })?;
        let text = decode(&ids).map_err(|cause| ScoreError::Decode { sample, cause })?;
        let (figures, characters) = sample::score(benchmark, check, &text, &expected.text, self.punkt);
        Ok(SampleScore {
            seq_id: *seq_id,
            qsl_idx: sample,
            tokens: ids.len() as u64,
            dataset: expected.kind.clone(),
            characters,
            figures,
            check: Some(check),
        })
    }
}

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// As the reference names it.
    pub key: &'static str,
    /// As the reference prints it, rounded where it rounds; MLPerf's checker judges this number.
    pub number: f64,
    /// As it stands in the line of the result.
    pub text: String,
}

/// The answers of one kind of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct KindOutcome {
    /// As the data set names it; empty where all rows are of one kind.
    pub kind: String,
    /// How they were compared.
    pub check: Check,
    /// Answers.
    pub total: u64,
    /// Right answers; `None`: they are not right or wrong, or not run.
    pub correct: Option<u64>,
}

/// What the answers of a log come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Which checks.
    pub benchmark: Benchmark,
    /// Lines of the log.
    pub lines: u64,
    /// Answers that were scored.
    pub scored: u64,
    /// Different samples among the lines that the data set has.
    pub samples: u64,
    /// Lines that were left out, because their sample was answered before.
    pub repeated: u64,
    /// Lines that were left out, because the data set lacks their sample.
    pub unknown: u64,
    /// The figures, in the order in which the reference prints them.
    pub values: Vec<Value>,
    /// Figures of the reference that were not computed, each with the reason.
    pub missing: Vec<(&'static str, &'static str)>,
    /// The answers by kind of row, in the order of their first answer.
    pub kinds: Vec<KindOutcome>,
}

impl Outcome {
    /// A figure by its key.
    pub fn value(&self, key: &str) -> Option<f64> {
        self.values.iter().find(|it| it.key == key).map(|it| it.number)
    }
}

const NO_TABLES: &str = "Punkt's tables are not given, without which sentences are not split";

/// The sums of a log. Percentages are of 100.
struct Totals {
    benchmark: Benchmark,
    lines: u64,
    scored: u64,
    samples: u64,
    repeated: u64,
    unknown: u64,
    tokens: u64,
    /// `None` once a sample has none where it should.
    characters: Option<u64>,
    rouge: [Vec<f64>; 3],
    rouge_lsum: Option<Vec<f64>>,
    exact_match: Option<Vec<f64>>,
    kinds: Vec<KindOutcome>,
}

impl Totals {
    fn new(benchmark: Benchmark) -> Totals {
        Totals {
            benchmark,
            lines: 0,
            scored: 0,
            samples: 0,
            repeated: 0,
            unknown: 0,
            tokens: 0,
            characters: Some(0),
            rouge: Default::default(),
            rouge_lsum: Some(Vec::new()),
            exact_match: Some(Vec::new()),
            kinds: Vec::new(),
        }
    }

    fn add(&mut self, score: &SampleScore) {
        let Some(check) = score.check else { return };
        self.scored += 1;
        self.tokens += score.tokens;
        if check.needs_sentences() {
            self.characters = self.characters.zip(score.characters).map(|(sum, it)| sum + it);
        }
        let mut correct = None;
        match &score.figures {
            Figures::Rouge { rouge1, rouge2, rouge_l, rouge_lsum } => {
                self.rouge.iter_mut().zip([rouge1, rouge2, rouge_l]).for_each(|(all, it)| all.push(*it));
                push(&mut self.rouge_lsum, *rouge_lsum);
            }
            Figures::RougeL { rouge_l } => self.rouge[2].push(*rouge_l),
            Figures::ExactMatch { exact_match } => push(&mut self.exact_match, *exact_match),
            Figures::Answer { correct: it, .. } => {
                push(&mut self.exact_match, Some(f64::from(u8::from(*it)) * 100.0));
                correct = Some(u64::from(*it));
            }
            Figures::Program { .. } => {}
        }
        let kind = self.kinds.iter_mut().find(|it| it.kind == score.dataset);
        match kind {
            Some(kind) => {
                kind.total += 1;
                kind.correct = kind.correct.zip(correct).map(|(sum, it)| sum + it);
            }
            None => self.kinds.push(KindOutcome { kind: score.dataset.clone(), check, total: 1, correct }),
        }
    }

    fn finish(self) -> Outcome {
        let mut values = Values { values: Vec::new(), missing: Vec::new() };
        match self.benchmark {
            Benchmark::Llama3_1_8b | Benchmark::Llama3_1_8bEdge => {
                self.add_rouge(&mut values, |it| format!("'{it}'"));
                self.add_length(&mut values);
                values.count("gen_num", self.scored);
            }
            Benchmark::Llama2_70b => {
                self.add_rouge(&mut values, str::to_owned);
                self.add_length(&mut values);
                self.add_tokens(&mut values, self.scored);
            }
            Benchmark::Mixtral8x7b => {
                self.add_rouge(&mut values, str::to_owned);
                match self.share_of(Check::Gsm8k) {
                    Some(percent) => values.number("gsm8k", percent),
                    None => values.missing.push(("gsm8k", "the log answers no sample of GSM8K")),
                }
                match Check::Mbxp.open().filter(|_| self.kinds.iter().any(|it| it.check == Check::Mbxp)) {
                    Some(reason) => values.missing.push(("mbxp", reason)),
                    None => values.count("mbxp", 0),
                }
                self.add_length(&mut values);
                // The reference counts the lines of the log.
                self.add_tokens(&mut values, self.lines);
            }
            Benchmark::Llama3_1_405b => {
                let of = |values: &mut Values, key, all: Option<&Vec<f64>>| match all.map(|it| figures::mean(it)) {
                    Some(Some(mean)) => values.number(key, mean),
                    Some(None) => values.missing.push((key, "the log answers no sample that it is of")),
                    None => values.missing.push((key, NO_TABLES)),
                };
                // The kind of the first answer stands first.
                let rouge_first = self.kinds.first().is_some_and(|it| it.check == Check::RougeL);
                if rouge_first {
                    of(&mut values, "rougeL", Some(&self.rouge[2]));
                }
                of(&mut values, "exact_match", self.exact_match.as_ref());
                if !rouge_first {
                    of(&mut values, "rougeL", Some(&self.rouge[2]));
                }
                self.add_length(&mut values);
                self.add_tokens(&mut values, self.scored);
            }
            Benchmark::DeepseekR1 => {
                match (self.open(), self.exact_match.as_deref().and_then(figures::mean)) {
                    (None, Some(mean)) => values.number("exact_match", mean),
                    (reason, _) => values.missing.push(("exact_match", reason.unwrap_or(NO_TABLES))),
                }
                values.number("tokens_per_sample", self.tokens as f64 / self.scored as f64);
                values.count("num-samples", self.scored);
            }
            Benchmark::GptOss120b => match self.open() {
                Some(reason) => values.missing.push(("exact_match", reason)),
                None => {
                    let percent = self.weighted_share();
                    values.values.push(Value {
                        key: "exact_match",
                        number: figures::round(percent, 3),
                        text: format!("{percent:.3}"),
                    });
                }
            },
        }
        Outcome {
            benchmark: self.benchmark,
            lines: self.lines,
            scored: self.scored,
            samples: self.samples,
            repeated: self.repeated,
            unknown: self.unknown,
            values: values.values,
            missing: values.missing,
            kinds: self.kinds,
        }
    }

    fn add_rouge(&self, values: &mut Values, printed: impl Fn(&str) -> String) {
        let [rouge1, rouge2, rouge_l] = &self.rouge;
        let all = [("rouge1", rouge1), ("rouge2", rouge2), ("rougeL", rouge_l)].map(|(key, it)| (key, Some(it)));
        for (key, all) in all.into_iter().chain([("rougeLsum", self.rouge_lsum.as_ref())]) {
            match all.map(|it| figures::mean(it)) {
                Some(Some(mean)) => {
                    let number = figures::round_4(mean * 100.0);
                    values.values.push(Value { key, number, text: printed(&figures::text(number)) });
                }
                Some(None) => values.missing.push((key, "the log answers no sample that it is of")),
                None => values.missing.push((key, NO_TABLES)),
            }
        }
    }

    fn add_length(&self, values: &mut Values) {
        match self.characters {
            Some(length) => values.count("gen_len", length),
            None => values.missing.push(("gen_len", NO_TABLES)),
        }
    }

    fn add_tokens(&self, values: &mut Values, number: u64) {
        values.count("gen_num", number);
        values.count("gen_tok_len", self.tokens);
        values.number("tokens_per_sample", figures::round(self.tokens as f64 / number as f64, 1));
    }

    /// The right answers of a check in percent, not rounded.
    fn share_of(&self, check: Check) -> Option<f64> {
        let kinds = || self.kinds.iter().filter(|it| it.check == check);
        let total: u64 = kinds().map(|it| it.total).sum();
        let correct: u64 = kinds().filter_map(|it| it.correct).sum();
        (total > 0).then(|| 100.0 * correct as f64 / total as f64)
    }

    /// Why the checks of some rows cannot give the official figure.
    fn open(&self) -> Option<&'static str> {
        self.kinds.iter().find_map(|it| it.check.open())
    }

    /// The score of gpt-oss-120b in percent: right answers of each data set by how often its questions are repeated. Source:
    /// gpt-oss-120b/eval_mlperf_accuracy.py.
    fn weighted_share(&self) -> f64 {
        let repeats = |kind: &str| match kind.to_lowercase().as_str() {
            "aime25" => 8.0,
            "gpqa_diamond" => 5.0,
            "livecodebench_v6" => 3.0,
            _ => 1.0,
        };
        let sum = |count: fn(&KindOutcome) -> u64| {
            self.kinds.iter().fold(0.0, |sum, it| sum + count(it) as f64 / repeats(&it.kind))
        };
        sum(|it| it.correct.unwrap_or_default()) / sum(|it| it.total) * 100.0
    }
}

/// Adds a figure, unless one before was not computed; the figures are absent once one is.
fn push(all: &mut Option<Vec<f64>>, value: Option<f64>) {
    match (all.as_mut(), value) {
        (Some(all), Some(value)) => all.push(value),
        _ => *all = None,
    }
}

struct Values {
    values: Vec<Value>,
    missing: Vec<(&'static str, &'static str)>,
}

impl Values {
    fn number(&mut self, key: &'static str, number: f64) {
        self.values.push(Value { key, number, text: figures::text(number) });
    }

    fn count(&mut self, key: &'static str, count: u64) {
        self.values.push(Value { key, number: count as f64, text: count.to_string() });
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// A log whose tokens are the characters of texts.
    fn log(answers: &[(u64, &str)]) -> Vec<Result<LogLine, io::Error>> {
        let bytes = |text: &str| text.chars().flat_map(|it| u32::from(it).to_le_bytes()).collect();
        let line = |(seq_id, (qsl_idx, text)): (usize, &(u64, &str))| {
            Ok(LogLine { seq_id: seq_id as u64, qsl_idx: *qsl_idx, data: bytes(text) })
        };
        answers.iter().enumerate().map(line).collect()
    }

    fn decode(ids: &[u32]) -> Result<String, String> {
        Ok(ids.iter().filter_map(|it| char::from_u32(*it)).collect())
    }

    fn expected(rows: &[(&str, &str)]) -> Vec<Expected> {
        rows.iter().map(|(kind, text)| Expected { text: (*text).into(), kind: (*kind).into() }).collect()
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
    fn gpt_oss_counts_every_line_by_its_data_set() {
        let rows = [("aime25", "7"), ("gpqa_diamond", "A")];
        let (outcome, _) =
            outcome(Benchmark::GptOss120b, &rows, &[(0, "\\boxed{7}"), (0, "\\boxed{8}"), (1, "A"), (9, "skipped")]);
        let outcome = outcome.unwrap();
        assert_eq!((outcome.scored, outcome.unknown), (3, 1));
        // (1/8 + 1/5) / (2/8 + 1/5)
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
