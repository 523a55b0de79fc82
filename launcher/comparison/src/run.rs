//! The input of a comparison: a run, or a series of runs with the same setting.

use ::document::ReportDocument;

/// A run, or a series of runs, that is compared.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The path of its report as the user gave it.
    pub path: &'a str,
    /// The report of the run. For a series: the report of its first valid run, from which the server and the model are taken.
    pub report: &'a ReportDocument,
    /// The reports of the other valid runs of a series; empty for a single run. Each figure of a series is the mean over its runs, and its interval
    /// comes from the differences between the runs.
    pub more: &'a [ReportDocument],
}

impl Run<'_> {
    /// Number of valid runs of a series; `None` for a single run.
    pub(crate) fn runs(&self) -> Option<usize> {
        (!self.more.is_empty()).then_some(1 + self.more.len())
    }
}
