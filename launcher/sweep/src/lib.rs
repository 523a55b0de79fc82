//! Evaluates the runs of a sweep: a table of all cells, the Pareto front, and the difference of each cell from its baseline.
//!
//! The input is the report documents of the runs; there is no I/O. Cells are compared within a repeat, and the spread between the runs of all cells
//! determines the intervals ([`statistics::blocks`]). `docs/sweep.md` explains the method and its assumptions.

mod answer;
mod differences;
mod document;
mod engaged;
mod markdown;
mod pareto;
mod readings;
mod rows;
mod run;
mod terminal;
#[cfg(test)]
mod tests;

use crds::benchmark_sweep::{Ended, ResolvedSweep};
use jiff::Timestamp;

pub use differences::{SWEEP_ERROR, with_interval};
pub use document::{
    Answer, CellDocument, CellStageDocument, ComparisonDocument, DifferenceDocument, FORMAT, FigureDocument,
    FrontDocument, RunDocument, SweepDocument, Verdict,
};
pub use engaged::figure_named;
pub use markdown::markdown;
pub use rows::{columns, label, progress, rows, word};
pub use run::Run;
pub use terminal::{legend, text};

/// Evaluates the runs so far. `ended`: why the sweep ended; `None` while it runs.
pub fn evaluate(sweep: &ResolvedSweep, started: Timestamp, runs: &[Run], ended: Option<Ended>) -> SweepDocument {
    let readings = readings::Readings::new(sweep, runs);
    let comparisons = differences::all(sweep, &readings);
    let mut cells = document::cells(sweep, runs, &readings);
    let front = pareto::mark(&mut cells);
    let answers = answer::answers(sweep, &comparisons);
    SweepDocument {
        format: FORMAT.to_owned(),
        tool_version: ::document::TOOL_VERSION.to_owned(),
        name: sweep.name.clone(),
        started,
        ended,
        answers,
        factors: sweep.factors.clone(),
        repeats: sweep.repeats,
        runs: sweep.order.len(),
        error: SWEEP_ERROR,
        front,
        cells,
        comparisons,
    }
}
