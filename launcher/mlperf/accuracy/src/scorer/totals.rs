//! Adds up the scores of samples, and computes a benchmark's figures from the sums. Pure.
//!
//! Source: `main` of the accuracy script of each benchmark in mlcommons/inference, commit b66003e1.

use super::{KindOutcome, Outcome, Value};
use crate::{
    benchmark::{Benchmark, Check},
    figures,
    sample::{Figures, SampleScore},
};

const NO_IDS: &str = "the server sent no token ids, and no tokenizer is given";
const NO_TABLES: &str = "Punkt's tables, which split texts into sentences, are not given";

/// The sums over a log. Percentages are on the scale 0 to 100.
pub(super) struct Totals {
    benchmark: Benchmark,
    pub(super) lines: u64,
    pub(super) scored: u64,
    pub(super) samples: u64,
    pub(super) repeated: u64,
    pub(super) unknown: u64,
    /// Total number of tokens; `None` as soon as one sample has no token count.
    tokens: Option<u64>,
    /// Total length in code points; `None` as soon as one sample lacks a required length.
    characters: Option<u64>,
    rouge: [Vec<f64>; 3],
    rouge_lsum: Option<Vec<f64>>,
    exact_match: Option<Vec<f64>>,
    kinds: Vec<KindOutcome>,
}

impl Totals {
    pub(super) fn new(benchmark: Benchmark) -> Totals {
        Totals {
            benchmark,
            lines: 0,
            scored: 0,
            samples: 0,
            repeated: 0,
            unknown: 0,
            tokens: Some(0),
            characters: Some(0),
            rouge: Default::default(),
            rouge_lsum: Some(Vec::new()),
            exact_match: Some(Vec::new()),
            kinds: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, score: &SampleScore) {
        let Some(check) = score.check else { return };
        self.scored += 1;
        self.tokens = self.tokens.zip(score.tokens).map(|(sum, it)| sum + it);
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

    pub(super) fn finish(self) -> Outcome {
        let mut values = Values { values: Vec::new(), missing: Vec::new() };
        match self.benchmark {
            Benchmark::Llama3_1_8b | Benchmark::Llama3_1_8bEdge => {
                self.add_rouge(&mut values, |it| format!("'{it}'"));
                self.add_length(&mut values);
                values.count("gen_num", self.scored);
            }
            Benchmark::Llama2_70b | Benchmark::Plain(Check::Rouge) => {
                self.add_rouge(&mut values, str::to_owned);
                self.add_length(&mut values);
                self.add_tokens(&mut values, self.scored);
            }
            Benchmark::Mixtral8x7b => {
                self.add_rouge(&mut values, str::to_owned);
                match self.share_of(Check::Gsm8k) {
                    Some(percent) => values.number("gsm8k", percent),
                    None => values.missing.push(("gsm8k", "the log has no answer to a sample of GSM8K")),
                }
                match Check::Mbxp.open().filter(|_| self.kinds.iter().any(|it| it.check == Check::Mbxp)) {
                    Some(reason) => values.missing.push(("mbxp", reason)),
                    None => values.count("mbxp", 0),
                }
                self.add_length(&mut values);
                // As in the reference, all lines of the log are counted, including skipped ones.
                self.add_tokens(&mut values, self.lines);
            }
            Benchmark::Llama3_1_405b => {
                let of = |values: &mut Values, key, all: Option<&Vec<f64>>| match all.map(|it| figures::mean(it)) {
                    Some(Some(mean)) => values.number(key, mean),
                    Some(None) => values.missing.push((key, "the log has no answer to a sample with this figure")),
                    None => values.missing.push((key, NO_TABLES)),
                };
                // The figures of the kind of row that was answered first come first.
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
                match self.tokens {
                    Some(tokens) => values.number("tokens_per_sample", tokens as f64 / self.scored as f64),
                    None => values.missing.push(("tokens_per_sample", NO_IDS)),
                }
                values.count("num-samples", self.scored);
            }
            Benchmark::Plain(_) => {
                match self.exact_match.as_deref().and_then(figures::mean) {
                    Some(mean) => values.number("exact_match", mean),
                    None => values.missing.push(("exact_match", NO_TABLES)),
                }
                self.add_tokens(&mut values, self.scored);
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
                Some(None) => values.missing.push((key, "the log has no answer to a sample with this figure")),
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
        match self.tokens {
            Some(tokens) => {
                values.count("gen_tok_len", tokens);
                values.number("tokens_per_sample", figures::round(tokens as f64 / number as f64, 1));
            }
            None => values.missing.extend([("gen_tok_len", NO_IDS), ("tokens_per_sample", NO_IDS)]),
        }
    }

    /// Returns the percentage of correct answers of a check, not rounded; `None` if it has no answers.
    fn share_of(&self, check: Check) -> Option<f64> {
        let kinds = || self.kinds.iter().filter(|it| it.check == check);
        let total: u64 = kinds().map(|it| it.total).sum();
        let correct: u64 = kinds().filter_map(|it| it.correct).sum();
        (total > 0).then(|| 100.0 * correct as f64 / total as f64)
    }

    /// Returns why the official figure cannot be computed, if this is so for the checks of some rows.
    fn open(&self) -> Option<&'static str> {
        self.kinds.iter().find_map(|it| it.check.open())
    }

    /// Returns the percentage score of gpt-oss-120b. The correct answers of each data set are divided by how often its questions are repeated.
    /// Source: gpt-oss-120b/eval_mlperf_accuracy.py.
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

/// Appends a figure to a list. If any figure was not computed, the whole list becomes `None`.
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
