//! Writes `junit.xml`: the validity of the measurement and each objective as test cases, for the test pages of a CI system.

use std::io::{self, Write};

use crds::units::Span;
use document::ReportDocument;
use junit::{Case, Suite};

use crate::objectives;

/// The name of the file in a results folder.
pub(super) const FILE_NAME: &str = "junit.xml";

/// Writes the file of a run.
///
/// # Errors
/// An error of the writer.
pub fn write(document: &ReportDocument, to: &mut (impl Write + ?Sized)) -> io::Result<()> {
    junit::write(&[suite(document)], to)
}

/// The test cases of a run.
pub fn suite(document: &ReportDocument) -> Suite {
    let reasons: Vec<String> = document.reasons.iter().map(ToString::to_string).collect();
    let validity = Case::validity(document.outcome, &reasons.join("; "));
    let objectives = objectives::rows(document);
    let objectives =
        objectives.iter().map(|it| Case::objective(it.objective, it.result.met, it.enforcement, &it.result.reason));
    Suite {
        name: document.run.title(),
        started: document.started.to_string(),
        duration: Span::from_millis_f64(document.figures.duration_ms).unwrap_or_default().0,
        cases: std::iter::once(validity).chain(objectives).collect(),
        notes: document.self_judgement.remarks.clone(),
    }
}
