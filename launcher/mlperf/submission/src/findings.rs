//! Findings: what a check has to say, a line each. Pure.

use std::fmt::{self, Display};

use serde::Serialize;

use super::rules::{Rule, Source};

/// The most findings that are kept. Who has that many looks at the first.
const MAX_FINDINGS: usize = 1_000;
/// The longest text of a finding, in characters: all keys of a description of a system have 850.
const MAX_TEXT: usize = 1_000;

/// A rule that is not met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which.
    pub rule: Rule,
    /// The file or folder, from the root of the tree.
    pub file: String,
    /// The key in it; empty: it is about the whole.
    pub key: String,
    /// What is there.
    pub found: String,
    /// What should be.
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

/// Findings about one file after the other.
#[derive(Debug, Default)]
pub(super) struct Findings {
    all: Vec<Finding>,
    /// How many there were, the ones that were not kept too.
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

    /// Those about `file`.
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

/// What was measured of a benchmark in a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// closed, open or network, submitter and system.
    pub system: String,
    /// Its folder.
    pub benchmark: String,
    /// Its folder.
    pub scenario: String,
    /// The reported metric; absent: none was found.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: &'static str,
    /// How many findings there are about it.
    pub findings: usize,
}

/// What a check came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The round that was checked for.
    pub round: &'static str,
    /// A line for each benchmark and scenario.
    pub rows: Vec<Row>,
    /// Rules that are not met, the first 1,000.
    pub findings: Vec<Finding>,
    /// How many there are.
    pub count: usize,
    /// What to know beside them: no errors.
    pub notes: Vec<String>,
}

impl Report {
    /// No rule is broken.
    pub fn clean(&self) -> bool {
        self.count == 0
    }
}
