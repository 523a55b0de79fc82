//! The result of scoring a log's answers. Pure.

use crate::benchmark::{Benchmark, Check};

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The name that the reference uses.
    pub key: &'static str,
    /// The value as the reference prints it, with the same rounding. MLPerf's checker compares this number with the limit.
    pub number: f64,
    /// The value as text, for the result line.
    pub text: String,
}

/// The result for all rows of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct KindOutcome {
    /// The name of the kind in the data set; empty if all rows have the same kind.
    pub kind: String,
    /// The check for rows of this kind.
    pub check: Check,
    /// Number of answers.
    pub total: u64,
    /// Number of correct answers. `None` if the check does not grade answers as correct or wrong, or if grading would have to run them.
    pub correct: Option<u64>,
}

/// The result of scoring a log's answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The benchmark, which selects the checks.
    pub benchmark: Benchmark,
    /// Number of lines in the log.
    pub lines: u64,
    /// Number of answers that were scored.
    pub scored: u64,
    /// Number of distinct samples in the log that the data set contains.
    pub samples: u64,
    /// Number of lines skipped because their sample was already answered.
    pub repeated: u64,
    /// Number of lines skipped because the data set lacks their sample.
    pub unknown: u64,
    /// The figures, in the order in which the reference prints them.
    pub values: Vec<Value>,
    /// The reference's figures that were not computed, each with the reason.
    pub missing: Vec<(&'static str, &'static str)>,
    /// The results per kind of row, in the order of the first answer of each kind.
    pub kinds: Vec<KindOutcome>,
}

impl Outcome {
    /// Returns a figure by its name.
    pub fn value(&self, key: &str) -> Option<f64> {
        self.values.iter().find(|it| it.key == key).map(|it| it.number)
    }
}
