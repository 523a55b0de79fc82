//! Compares two or more runs, and decides with confidence intervals which differences are significant.
//!
//! The input is report documents, and the output is a [`Comparison`]; there is no I/O. The first run is the base. `docs/compare.md` has the rules,
//! and `docs/statistics.md` the method. The interval of a single run does not include how much runs with the same setting differ, for example because
//! the server runs on another node.

mod answer;
mod document;
mod estimate;
mod figure;
mod gate;
mod markdown;
mod pairs;
mod percent;
mod remarks;
pub mod rows;
mod run;
mod stages;
mod terminal;

pub use document::{
    Answer, Comparison, FORMAT, FigureDocument, Gate, GateOutcome, NotRuledOut, PairDocument, RunDocument,
    StagePairDocument, UnmatchedDocument, ValueDocument, Verdict,
};
pub use figure::compared;
pub use figures::{Value, Way};
pub use gate::GateRule;
pub use markdown::markdown;
pub use remarks::{Remark, Severity};
pub use run::Run;
pub use terminal::text;

use pairs::{FAMILY_ERROR, SMALLEST_PERCENT};

/// Maximum number of runs: each run is named by one letter.
pub const MOST_RUNS: usize = 26;

/// Compares each run with the first one. `None` if there are fewer than two runs, or more than [`MOST_RUNS`].
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
