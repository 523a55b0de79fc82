//! Findings: the results of a check, one line each. Pure.

use std::fmt::{self, Display};

use serde::Serialize;

use super::rules::{Rule, Source};

/// Maximum number of findings to keep. More would not help the reader.
const MAX_FINDINGS: usize = 1_000;
/// Maximum length of a finding's text, in characters. The longest one, a list of all keys of a system description, has 850.
const MAX_TEXT: usize = 1_000;

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The violated rule.
    pub rule: Rule,
    /// The file or folder, relative to the root of the tree.
    pub file: String,
    /// The key in the file; empty if the finding concerns the whole file.
    pub key: String,
    /// What was found.
    pub found: String,
    /// What is required.
    pub wanted: String,
    /// How to correct it.
    pub remedy: &'static str,
    /// Whether MLPerf's own checker overlooks the violation.
    pub overlooked: bool,
}

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { rule, file, key, found, wanted, remedy, overlooked } = self;
        let key = if key.is_empty() { String::new() } else { format!(" {key}") };
        let quiet = if *overlooked { ", which MLPerf's checker overlooks" } else { "" };
        write!(f, "{file}:{key} found {found}, wanted {wanted}; {remedy} [{}{quiet}]", rule.name())
    }
}

/// Collects findings.
#[derive(Debug, Default)]
pub(super) struct Findings {
    all: Vec<Finding>,
    /// Number of all findings, including those that were not kept.
    pub(super) count: usize,
}

impl Findings {
    pub(super) fn add(&mut self, rule: Rule, file: &str, key: &str, found: impl Display, wanted: impl Display) {
        self.count += 1;
        if self.all.len() < MAX_FINDINGS {
            let text = |it: &dyn Display| it.to_string().chars().take(MAX_TEXT).collect();
            let (found, wanted) = (text(&found), text(&wanted));
            let (remedy, overlooked) = (rule.remedy(), rule.source() == Source::Ours);
            let (file, key) = (file.into(), key.into());
            self.all.push(Finding { rule, file, key, found, wanted, remedy, overlooked });
        }
    }

    /// Returns a collector for findings about the file `file`.
    pub(super) fn about<'a>(&'a mut self, file: &'a str) -> About<'a> {
        About { findings: self, file }
    }

    pub(super) fn into_all(self) -> Vec<Finding> {
        self.all
    }
}

/// Collects findings about one file.
#[derive(Debug)]
pub(super) struct About<'a> {
    findings: &'a mut Findings,
    file: &'a str,
}

impl About<'_> {
    /// Adds a finding unless the rule is met.
    pub(super) fn want(&mut self, met: bool, rule: Rule, key: &str, found: impl Display, wanted: impl Display) {
        if !met {
            self.findings.add(rule, self.file, key, found, wanted);
        }
    }
}

/// The measured result of a benchmark in a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Division (closed, open or network), submitter and system.
    pub system: String,
    /// Folder name of the benchmark.
    pub benchmark: String,
    /// Folder name of the scenario.
    pub scenario: String,
    /// The metric; `None` if none was found.
    pub value: Option<f64>,
    /// The unit of the metric.
    pub unit: &'static str,
    /// Number of findings about this result.
    pub findings: usize,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The round whose rules were applied to the tree.
    pub round: &'static str,
    /// One row per benchmark and scenario.
    pub rows: Vec<Row>,
    /// The first 1,000 findings.
    pub findings: Vec<Finding>,
    /// Number of all findings.
    pub count: usize,
    /// Notes that are not errors.
    pub notes: Vec<String>,
}

impl Report {
    /// Whether no rule is violated.
    pub fn clean(&self) -> bool {
        self.count == 0
    }
}
