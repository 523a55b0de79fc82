//! `junit.xml`: the validity of a measurement and its objectives as test cases, for the pages of a pipeline.

use std::io::{self, Write};

use analysis::Analysis;
use junit::{Case, Suite};

use crate::Report;

/// The name of the file in a results folder.
pub(super) const FILE_NAME: &str = "junit.xml";

/// Writes the file of a run.
///
/// # Errors
/// The writer's.
pub fn write(report: &Report<'_>, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
    junit::write(&[suite(report.run.run.title(), report.analysis)], to)
}

/// The test cases of a run. `name`: the title of the run.
pub(super) fn suite(name: String, analysis: &Analysis) -> Suite {
    let verdict = &analysis.verdict;
    let reasons: Vec<String> = verdict.reasons.iter().map(ToString::to_string).collect();
    let validity = Case::validity(verdict.outcome, &reasons.join("; "));
    let objectives = analysis.objectives.iter().flat_map(|all| {
        all.results.iter().map(|it| Case::objective(&it.objective, it.met, all.enforcement, &it.reason))
    });
    Suite {
        name,
        started: analysis.started.to_string(),
        duration: analysis.all.duration,
        cases: std::iter::once(validity).chain(objectives).collect(),
        notes: analysis.judgement.remarks.clone(),
    }
}
