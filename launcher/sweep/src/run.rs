//! The input: the runs of a sweep.

use ::document::ReportDocument;
use crds::Outcome;

/// A run of a cell.
#[derive(Clone, Debug)]
pub struct Run {
    /// The number of the cell, from 0.
    pub cell: usize,
    /// The number of the repeat, from 1.
    pub repeat: u32,
    /// Number of attempts so far.
    pub attempts: u32,
    /// The results folder, relative to the folder of the sweep. `None` if there is none.
    pub folder: Option<String>,
    /// How the last attempt ended.
    pub outcome: Outcome,
    /// The reason for the outcome, as a sentence.
    pub message: String,
    /// The report. `None` if the run has none.
    pub report: Option<ReportDocument>,
}

impl Run {
    /// The report, if its figures are valid.
    pub(crate) fn valid(&self) -> Option<&ReportDocument> {
        self.report.as_ref().filter(|_| self.outcome.has_valid_figures())
    }
}
