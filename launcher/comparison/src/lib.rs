//! Two or more runs side by side: each difference with its interval, and whether it is one.
//!
//! Documents in, a [`Comparison`] out; nothing is read or written here. The first run is the base. `docs/compare.md` has the rules,
//! and `docs/statistics.md` the method. What lies between runs of one setting, such as another placement of the server, no interval
//! of a single run shows.

mod answer;
mod document;
mod estimate;
mod figure;
mod gate;
mod markdown;
mod pairs;
mod remarks;
pub mod rows;
mod stages;
mod terminal;

use ::document::ReportDocument;

pub use answer::Answer;
pub use document::{
    Comparison, FORMAT, FigureDocument, PairDocument, RunDocument, StagePairDocument, UnmatchedDocument, ValueDocument,
    Verdict,
};
pub use figure::{Figure, Way};
pub use gate::{Gate, GateOutcome, GateRule, NotRuledOut};
pub use markdown::markdown;
pub use remarks::{Remark, Severity};
pub use terminal::text;

/// The probability that one or more intervals of a pair, one per family of figures, miss the true difference. In four of five cases or
/// more, twenty comparisons of equal runs then report no difference.
pub const FAMILY_ERROR: f64 = 0.01;

/// The smallest difference that is one, in percent of the larger of both values. Runs of one setting differ by more than the
/// requests of a run can show: the machine is warmer, a process lies elsewhere in memory.
pub const SMALLEST_PERCENT: f64 = 1.0;

/// The most runs that are compared: one for each letter that names them.
pub const MOST_RUNS: usize = 26;

/// One of the runs.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Where its report was found, as the user named it.
    pub path: &'a str,
    /// The report of the run. For a series, the report of its first valid run, which also names the server and the model.
    pub report: &'a ReportDocument,
    /// The reports of the other valid runs of a series; empty for a single run. Each figure of a series is the mean over its runs, with the
    /// interval between the runs.
    pub more: &'a [ReportDocument],
}

impl Run<'_> {
    /// The number of valid runs of a series; `None` for a single run.
    fn runs(&self) -> Option<usize> {
        (!self.more.is_empty()).then_some(1 + self.more.len())
    }
}

/// Compares each run with the first. `None` with less than two runs, or more than [`MOST_RUNS`].
pub fn compare(runs: &[Run<'_>]) -> Option<Comparison> {
    let (base, others) = runs.split_first()?;
    if others.is_empty() || runs.len() > MOST_RUNS {
        return None;
    }
    let names: Vec<String> = ('A'..='Z').take(runs.len()).map(String::from).collect();
    let pairs = others.iter().zip(&names[1..]).map(|(other, name)| pairs::compare(base, other, name));
    Some(Comparison {
        format: FORMAT.to_owned(),
        tool_version: ::document::TOOL_VERSION.to_owned(),
        family_error: FAMILY_ERROR,
        smallest_percent: SMALLEST_PERCENT,
        runs: runs.iter().zip(&names).map(|(run, name)| RunDocument::new(name, run)).collect(),
        pairs: pairs.collect(),
        gate: None,
    })
}
