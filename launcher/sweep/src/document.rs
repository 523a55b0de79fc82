//! The types of `sweep.json`. `docs/sweep.md` explains each key.

use std::collections::BTreeMap;

use crds::{
    Outcome,
    benchmark_sweep::{Ended, ResolvedSweep, SweepFactor},
};
use figures::{Value, Way};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use statistics::Interval;

use crate::{
    readings::{Readings, SHOWN, Scale},
    run::Run,
};

/// The version of the JSON format. It changes only if readers must adapt to a change.
pub const FORMAT: &str = "benchwright.dev/sweep/v1";
/// The error of the interval of a cell's figure.
const CELL_ERROR: f64 = 0.05;

/// The result of a sweep, also while it runs.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SweepDocument {
    pub format: String,
    pub tool_version: String,
    pub name: String,
    pub started: Timestamp,
    /// Why the sweep ended; absent while it runs.
    pub ended: Option<Ended>,
    /// The result as sentences, one per combination of levels that is compared with the baseline.
    pub answers: Vec<String>,
    pub factors: Vec<SweepFactor>,
    pub repeats: u32,
    /// Number of planned runs.
    pub runs: usize,
    /// Maximum probability that at least one interval in `comparisons` misses the true difference.
    pub error: f64,
    /// The figures of the Pareto front; absent if no cell has both.
    pub front: Option<FrontDocument>,
    pub cells: Vec<CellDocument>,
    pub comparisons: Vec<ComparisonDocument>,
}

impl SweepDocument {
    /// The titles of the figures of the Pareto front: what one user gets, and what all users get.
    pub fn front_titles(&self) -> Option<[String; 2]> {
        let title = |name: &str| SHOWN.into_iter().find(|it| it.name() == name).map(Value::label);
        let FrontDocument { across, up } = self.front.as_ref()?;
        Some([title(across)?, title(up)?])
    }
}

/// The figures of a Pareto front. A stage of a cell is on the front if no other one is better in one figure and at least as good in the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrontDocument {
    /// The figure across: what one user gets.
    pub across: String,
    /// The figure up: what all users get together.
    pub up: String,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CellDocument {
    /// The name of the cell, such as `server=a,rate=10`.
    pub name: String,
    /// The levels, by factor.
    pub levels: BTreeMap<String, String>,
    pub runs: Vec<RunDocument>,
    pub stages: Vec<CellStageDocument>,
}

/// A run of a cell.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunDocument {
    pub repeat: u32,
    pub attempts: u32,
    /// The results folder, relative to the folder of the sweep.
    pub folder: Option<String>,
    pub outcome: Outcome,
    /// Why the run has no valid figures, or which objective it missed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// A stage of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CellStageDocument {
    pub name: String,
    /// Number of runs with valid figures of this stage.
    pub runs: usize,
    /// Whether the server fell behind the load in at least one run, so that latencies depend on the length of the stage.
    pub overloaded: bool,
    /// Whether the stage is on the Pareto front.
    pub on_front: bool,
    pub figures: Vec<FigureDocument>,
}

/// A figure of a cell: the mean over its runs, which is the geometric mean for times and rates.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FigureDocument {
    pub figure: String,
    pub value: f64,
    /// The bounds of the 95 % interval of the mean; absent if the spread between runs is unknown.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// The comparison of a stage of a cell with the same stage of its baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparisonDocument {
    pub cell: String,
    pub baseline: String,
    pub stage: String,
    pub answer: Answer,
    /// The result as a sentence, without the names of the cells.
    pub sentence: String,
    pub figures: Vec<DifferenceDocument>,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    Better,
    Worse,
    /// Better in some figures, worse in others.
    Mixed,
    /// No difference, and the intervals exclude differences above 10 %.
    Equal,
    /// The intervals are too wide to decide.
    Undecided,
}

/// The difference of a figure between a cell and its baseline.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DifferenceDocument {
    pub figure: String,
    pub better: Direction,
    pub base: f64,
    pub value: f64,
    /// The difference: in percent of the baseline for times and rates, in percentage points for shares.
    pub difference: f64,
    /// The bounds of the interval of `difference`, corrected for the number of comparisons; absent if the spread between runs is unknown.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub verdict: Verdict,
}

/// Which direction of a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Direction {
    Up,
    Down,
}

impl From<Way> for Direction {
    fn from(way: Way) -> Direction {
        if way == Way::Up { Direction::Up } else { Direction::Down }
    }
}

/// The verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    Better,
    Worse,
    NoDifferenceFound,
}

/// The cells with their runs and figures.
pub(crate) fn cells(sweep: &ResolvedSweep, runs: &[Run], readings: &Readings<'_>) -> Vec<CellDocument> {
    let blocks: Vec<Vec<_>> = readings
        .stages
        .iter()
        .map(|stage| SHOWN.iter().map(|it| (*it, readings.blocks(stage, *it))).collect())
        .collect();
    let cell = |(number, cell): (usize, &crds::benchmark_sweep::Cell)| {
        let stages = readings.stages.iter().zip(&blocks).filter_map(|(name, blocks)| {
            let found = readings.stages_of(number, name);
            let figures = blocks.iter().filter_map(|(value, blocks)| {
                let (mean, interval) = blocks.cell(number, CELL_ERROR)?;
                Some(figure(*value, mean, interval))
            });
            let figures: Vec<FigureDocument> = figures.collect();
            (!found.is_empty()).then(|| CellStageDocument {
                name: name.clone(),
                runs: found.len(),
                overloaded: found.iter().any(|it| it.overloaded == Some(true)),
                on_front: false,
                figures,
            })
        });
        let of_cell = runs.iter().filter(|it| it.cell == number);
        let names = sweep.factors.iter().map(|it| it.name.clone());
        CellDocument {
            name: cell.name.clone(),
            levels: names.zip(cell.levels.iter().cloned()).collect(),
            runs: of_cell.map(run).collect(),
            stages: stages.collect(),
        }
    };
    sweep.cells.iter().enumerate().map(cell).collect()
}

fn run(of: &Run) -> RunDocument {
    let (outcome, message) = (of.outcome, if of.outcome == Outcome::Passed { "" } else { &of.message });
    RunDocument {
        repeat: of.repeat,
        attempts: of.attempts,
        folder: of.folder.clone(),
        outcome,
        message: message.to_owned(),
    }
}

fn figure(value: Value, mean: f64, interval: Interval) -> FigureDocument {
    let scale = Scale::of(value);
    let bound = |it: f64| it.is_finite().then(|| scale.back(it));
    FigureDocument {
        figure: value.name(),
        value: scale.back(mean),
        low: bound(interval.low),
        high: bound(interval.high),
    }
}

impl CellStageDocument {
    /// The figure with this name.
    pub fn figure(&self, name: &str) -> Option<&FigureDocument> {
        self.figures.iter().find(|it| it.figure == name)
    }
}
