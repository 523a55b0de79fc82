//! The input of a comparison: a run, or a series of runs with the same setting.

use ::document::ReportDocument;

/// One of the runs.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Where its report was found, as the user named it.
    pub path: &'a str,
    /// The report of the run. For a series, the report of its first valid run, which also gives the server and the model.
    pub report: &'a ReportDocument,
    /// The reports of the other valid runs of a series; empty for a single run. Each figure of a series is the mean over its runs, with the
    /// interval between the runs.
    pub more: &'a [ReportDocument],
}

impl Run<'_> {
    /// The number of valid runs of a series; `None` for a single run.
    pub(crate) fn runs(&self) -> Option<usize> {
        (!self.more.is_empty()).then_some(1 + self.more.len())
    }
}
