//! Findings: the results of a check, one line each. Pure.

use std::fmt::{self, Display};

use serde::Serialize;

use super::rules::{Rule, Source};

/// Maximum number of findings that are kept; further findings would not help the reader.
const MAX_FINDINGS: usize = 1_000;
/// Maximum length of a finding's text, in characters: all keys of a system description take 850.
const MAX_TEXT: usize = 1_000;

/// A rule that is not met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule that is broken.
    pub rule: Rule,
    /// The file or folder, from the root of the tree.
    pub file: String,
    /// The key in the file; empty: the finding is about the whole file.
    pub key: String,
    /// What was found.
    pub found: String,
    /// What is required.
    pub wanted: String,
    /// What to do.
    pub remedy: &'static str,
    /// MLPerf's own checker takes no notice.
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

/// Findings, collected file by file.
#[derive(Debug, Default)]
pub(super) struct Findings {
    all: Vec<Finding>,
    /// Number of all findings, including findings that were not kept.
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

    /// Findings about `file`.
    pub(super) fn about<'a>(&'a mut self, file: &'a str) -> About<'a> {
        About { findings: self, file }
    }

    pub(super) fn into_all(self) -> Vec<Finding> {
        self.all
    }
}

/// Findings about a file.
#[derive(Debug)]
pub(super) struct About<'a> {
    findings: &'a mut Findings,
    file: &'a str,
}

impl About<'_> {
    /// Notes the rule where it is not met.
    pub(super) fn want(&mut self, met: bool, rule: Rule, key: &str, found: impl Display, wanted: impl Display) {
        if !met {
            self.findings.add(rule, self.file, key, found, wanted);
        }
    }
}

/// The measured result of a benchmark in a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// closed, open or network, submitter and system.
    pub system: String,
    /// The folder of the benchmark.
    pub benchmark: String,
    /// The folder of the scenario.
    pub scenario: String,
    /// The reported metric; absent: none was found.
    pub value: Option<f64>,
    /// The unit of the value.
    pub unit: &'static str,
    /// How many findings there are about it.
    pub findings: usize,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The checked round.
    pub round: &'static str,
    /// A line for each benchmark and scenario.
    pub rows: Vec<Row>,
    /// Rules that are not met, the first 1,000.
    pub findings: Vec<Finding>,
    /// How many there are.
    pub count: usize,
    /// Further notes, which are not errors.
    pub notes: Vec<String>,
}

impl Report {
    /// No rule is broken.
    pub fn clean(&self) -> bool {
        self.count == 0
    }
}
