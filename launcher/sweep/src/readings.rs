//! The figures of each stage of each run.

use ::document::{ReportDocument, StageDocument};
use crds::{benchmark_run::Stat, benchmark_sweep::ResolvedSweep};
use figures::{Figure, Unit, Value};
use statistics::blocks::Blocks;

use crate::run::Run;

/// The figures that decide whether two cells differ: one per family of figures.
pub(crate) const DECIDING: [Value; 5] = [
    Value::stat(Figure::Ttft, Stat::Mean),
    Value::stat(Figure::Tpot, Stat::Mean),
    Value::stat(Figure::Latency, Stat::Mean),
    Value::plain(Figure::OutputTokensPerSecond),
    Value::plain(Figure::ErrorRatio),
];

/// The figures in the table of cells.
pub(crate) const SHOWN: [Value; 11] = [
    Value::plain(Figure::RequestsPerSecond),
    Value::plain(Figure::OutputTokensPerSecond),
    Value::stat(Figure::Ttft, Stat::P50),
    Value::stat(Figure::Ttft, Stat::P99),
    Value::stat(Figure::Tpot, Stat::P50),
    Value::stat(Figure::Tpot, Stat::P90),
    Value::stat(Figure::Latency, Stat::P50),
    Value::stat(Figure::Latency, Stat::P99),
    Value::plain(Figure::InverseOfTpotP90),
    Value::plain(Figure::GoodputShare),
    Value::plain(Figure::ErrorRatio),
];

/// The stages of all cells, and where their figures are read.
pub(crate) struct Readings<'a> {
    /// For each cell and each repeat, the report with valid figures.
    reports: Vec<Vec<Option<&'a ReportDocument>>>,
    /// The names of the stages, in the order in which they first occur.
    pub(crate) stages: Vec<String>,
}

impl<'a> Readings<'a> {
    pub(crate) fn new(sweep: &ResolvedSweep, runs: &'a [Run]) -> Readings<'a> {
        let mut reports = vec![vec![None; sweep.repeats as usize]; sweep.cells.len()];
        let mut stages: Vec<String> = Vec::new();
        for run in runs {
            let Some(report) = run.valid() else { continue };
            let slot = reports.get_mut(run.cell).and_then(|it| it.get_mut((run.repeat as usize).wrapping_sub(1)));
            let Some(slot) = slot else { continue };
            *slot = Some(report);
            for stage in &report.stages {
                if !stages.contains(&stage.name) {
                    stages.push(stage.name.clone());
                }
            }
        }
        Readings { reports, stages }
    }

    /// The stage of a run; `None` if the run or the stage has no valid figures.
    fn stage(&self, cell: usize, repeat: usize, name: &str) -> Option<&'a StageDocument> {
        let report = self.reports[cell][repeat]?;
        let stage = report.stages.iter().find(|it| it.name == name)?;
        let is_valid = stage.not_run.is_none() && stage.invalid.is_empty() && !stage.profiled;
        is_valid.then_some(stage)
    }

    /// All valid occurrences of a stage in the runs of a cell.
    pub(crate) fn stages_of(&self, cell: usize, name: &str) -> Vec<&'a StageDocument> {
        (0..self.reports[cell].len()).filter_map(|repeat| self.stage(cell, repeat, name)).collect()
    }

    /// The values of a figure in one stage: one row per cell, one column per repeat.
    pub(crate) fn blocks(&self, stage: &str, value: Value) -> Blocks {
        let scale = Scale::of(value);
        let read = |cell: usize, repeat: usize| {
            let stage = self.stage(cell, repeat, stage)?;
            scale.to(read(stage, value)?)
        };
        let row = |cell: usize| (0..self.reports[cell].len()).map(|repeat| read(cell, repeat)).collect();
        Blocks::fit((0..self.reports.len()).map(row).collect())
    }
}

/// The value of a figure in a stage.
pub(crate) fn read(stage: &StageDocument, value: Value) -> Option<f64> {
    let found = match value.stat {
        Some(stat) => Some(stage.figures.statistics(value.figure)?.get(stat)),
        None => stage.figures.number(value.figure),
    };
    found.filter(|it| it.is_finite())
}

/// The scale on which the errors of a figure are about equal in all cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Times and rates: errors are proportional to the value.
    Logarithmic,
    /// Shares.
    Linear,
}

impl Scale {
    pub(crate) fn of(value: Value) -> Scale {
        if value.figure.row().unit == Unit::Share { Scale::Linear } else { Scale::Logarithmic }
    }

    /// The value on this scale. `None` on a logarithmic scale for 0.
    fn to(self, value: f64) -> Option<f64> {
        match self {
            Scale::Logarithmic => (value > 0.0).then(|| value.ln()),
            Scale::Linear => Some(value),
        }
    }

    /// The inverse of [`Scale::to`].
    pub(crate) fn back(self, value: f64) -> f64 {
        if self == Scale::Logarithmic { value.exp() } else { value }
    }
}
