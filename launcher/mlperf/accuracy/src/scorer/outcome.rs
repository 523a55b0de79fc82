//! What the answers of a log come to. Pure.

use crate::benchmark::{Benchmark, Check};

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
