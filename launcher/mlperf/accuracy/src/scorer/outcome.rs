//! The result of scoring a log's answers. Pure.

use crate::benchmark::{Benchmark, Check};

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// As the reference names it.
    pub key: &'static str,
    /// As the reference prints it, rounded where it rounds; MLPerf's checker judges this number.
    pub number: f64,
    /// The text of the figure in the result line.
    pub text: String,
}

/// The answers to rows of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct KindOutcome {
    /// The kind's name in the data set; empty if all rows have the same kind.
    pub kind: String,
    /// How they were compared.
    pub check: Check,
    /// Answers.
    pub total: u64,
    /// Right answers; `None`: the check does not grade them as right or wrong, or does not run them.
    pub correct: Option<u64>,
}

/// The result of scoring a log's answers.
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
    /// Skipped lines: their sample was already answered.
    pub repeated: u64,
    /// Skipped lines: the data set lacks their sample.
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
