//! The JSON document of a comparison, from which its pages are also written. `docs/compare.md` explains each key.

use analysis::Accuracy;
use crds::outcome::Outcome;
use figures::{Family, Way};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    remarks::{self, Remark},
    run::Run,
};

/// The version of the JSON format. It changes only if readers must adapt to a change.
pub const FORMAT: &str = "benchwright.dev/comparison/v1";

/// A comparison of two or more runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    pub format: String,
    pub tool_version: String,
    /// The probability that at least one interval of a pair of runs misses the true difference.
    pub family_error: f64,
    /// Differences below this do not count. In percent of the larger value.
    pub smallest_percent: f64,
    /// All runs; the first is the base.
    pub runs: Vec<RunDocument>,
    /// The comparison of each further run with the base.
    pub pairs: Vec<PairDocument>,
    /// The result of the gate; absent without a gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
}

/// A run in a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunDocument {
    /// A for the base, then B, C and so on.
    pub name: String,
    pub path: String,
    /// The name of its BenchmarkRun resource.
    pub run: String,
    pub model: String,
    /// How the server identified itself; absent if it reported nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    pub started: Timestamp,
    pub outcome: Outcome,
    /// Number of runs if this is a series. Each figure is then the mean over these runs. Absent for a single run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
    /// The accuracy from the report; absent if the answers were not scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Accuracy>,
}

impl RunDocument {
    pub(crate) fn new(name: &str, run: &Run<'_>) -> RunDocument {
        RunDocument {
            name: name.to_owned(),
            path: run.path.to_owned(),
            run: run.report.run.title(),
            model: run.report.model.clone(),
            server: remarks::server(run.report),
            started: run.report.started,
            outcome: run.report.outcome,
            runs: run.runs(),
            accuracy: run.report.accuracy.clone(),
        }
    }
}

/// The comparison of a run with the base.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PairDocument {
    /// The name of the run that is compared with the base.
    pub run: String,
    /// The result of the comparison.
    pub answer: Answer,
    /// The result as a sentence.
    pub sentence: String,
    /// Differences other than in figures. Those that make figures incomparable come first.
    pub remarks: Vec<Remark>,
    pub stages: Vec<StagePairDocument>,
    /// Stages that only one of the two runs has.
    pub unmatched: Vec<UnmatchedDocument>,
    /// Number of families of figures, over all stages. With probability 1 - `familyError`, the intervals of all these families contain the true
    /// differences, so more families make the intervals wider.
    pub families: usize,
}

/// A stage that only one run has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnmatchedDocument {
    /// The name of the run that has this stage.
    pub run: String,
    pub stage: String,
    pub why: String,
}

/// A stage that both runs have.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StagePairDocument {
    /// The name of the stage in the base.
    pub base: String,
    /// The name of the stage in the other run.
    pub other: String,
    /// The result for this stage.
    pub answer: Answer,
    /// The result as a sentence.
    pub sentence: String,
    /// Duration of the shorter of the two stages.
    pub seconds: f64,
    /// Number of runs of the shorter series; absent for two single runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
    pub figures: Vec<FigureDocument>,
}

/// The result of the comparison of a stage, or of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    Better,
    Worse,
    /// Better in some figures, worse in others.
    Mixed,
    /// The intervals exclude all differences above a bound.
    Equal,
    /// The intervals are too wide to decide.
    Undecided,
    NotComparable,
}

/// A figure with its values in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FigureDocument {
    pub figure: String,
    #[serde(skip)]
    pub(crate) family: Family,
    /// The name of the figure in tables.
    pub title: String,
    /// The unit; empty for a share, and for money.
    pub unit: String,
    pub better: Way,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<ValueDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<ValueDocument>,
    /// The value of the other run minus the value of the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// The difference in percent of the base; absent if the base's value is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// The interval of the difference. With probability 1 - `familyError`, all intervals of this pair of runs contain their true differences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// `interval` in percent of the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_percent: Option<[f64; 2]>,
    /// The 95 % interval of the difference of this figure on its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval95: Option<[f64; 2]>,
    pub verdict: Verdict,
    /// The reason why the figure is undecided, or a note on the verdict; can be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// The value of a figure in one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueDocument {
    pub value: f64,
    /// The lower bound of the value's 95 % interval. `high` is the upper bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// The verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    Better,
    Worse,
    NoDifferenceFound,
    CannotBeDecided,
}

impl Verdict {
    /// The verdict in words.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NoDifferenceFound => "no difference found",
            Verdict::CannotBeDecided => "cannot be decided",
        }
    }
}

/// The outcome of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum GateOutcome {
    Passed,
    /// A figure is worse.
    Regression,
    /// No figure is worse, but a figure that the gate needs is undecided.
    Inconclusive,
}

impl GateOutcome {
    /// The outcome in words.
    pub fn name(self) -> &'static str {
        match self {
            GateOutcome::Passed => "passed",
            GateOutcome::Regression => "regression",
            GateOutcome::Inconclusive => "inconclusive",
        }
    }
}

/// The result of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gate {
    pub outcome: GateOutcome,
    /// The allowed worsening in percent; if absent, every worsening fails the gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// The names of the figures that the gate considers; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<String>,
    /// The largest worsening of a deciding figure that is possible according to the intervals; absent if no deciding figure has an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_not_ruled_out: Option<NotRuledOut>,
    /// The reason why the gate did not pass, one entry per reason.
    pub reasons: Vec<String>,
}

/// The largest worsening that is possible according to the 95 % interval of a difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NotRuledOut {
    /// The figure with its run and stage.
    pub figure: String,
    /// The worsening in percent of the base. Below 0, the figure is certainly better.
    pub percent: f64,
}
