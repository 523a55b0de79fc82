//! A comparison as its JSON contains it, and as its pages read it. `docs/compare.md` explains each key.

use analysis::Accuracy;
use crds::outcome::Outcome;
use figures::{Family, Way};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    remarks::{self, Remark},
    run::Run,
};

/// The version of the JSON. It changes when a reader must know of a change.
pub const FORMAT: &str = "benchwright.dev/comparison/v1";

/// Two or more runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    pub format: String,
    pub tool_version: String,
    /// The probability that one or more intervals of a pair miss the true difference.
    pub family_error: f64,
    /// Smaller differences, in percent of the larger value, do not count.
    pub smallest_percent: f64,
    /// The base comes first.
    pub runs: Vec<RunDocument>,
    /// The comparison of each other run with the base.
    pub pairs: Vec<PairDocument>,
    /// Absent without a gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
}

/// One of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunDocument {
    /// A for the base, then B, C and so on.
    pub name: String,
    pub path: String,
    /// The name of its BenchmarkRun.
    pub run: String,
    pub model: String,
    /// How the server identified itself; absent if it reported nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    pub started: Timestamp,
    pub outcome: Outcome,
    /// Number of runs in a series; figures are then means over these runs. Absent for a single run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
    /// The accuracy in the report; absent if the answers were not scored.
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
    /// The name of the other run.
    pub run: String,
    /// The result of the comparison.
    pub answer: Answer,
    /// The result as a sentence.
    pub sentence: String,
    /// Differences besides the figures. Differences that make figures incomparable come first.
    pub remarks: Vec<Remark>,
    pub stages: Vec<StagePairDocument>,
    /// Stages of only one of the two runs.
    pub unmatched: Vec<UnmatchedDocument>,
    /// Number of families of figures, over all stages. The intervals of all families hold together.
    pub families: usize,
}

/// A stage without a partner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnmatchedDocument {
    /// The name of the run with this stage.
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
    /// The duration of the shorter stage.
    pub seconds: f64,
    /// The number of runs of the shorter series; absent for two single runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
    pub figures: Vec<FigureDocument>,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    Better,
    Worse,
    /// Better in some figures, worse in others.
    Mixed,
    /// All differences above a bound are excluded.
    Equal,
    /// The intervals are too wide to decide.
    Undecided,
    NotComparable,
}

/// A figure that both runs have.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FigureDocument {
    pub figure: String,
    #[serde(skip)]
    pub(crate) family: Family,
    /// What a table calls it.
    pub title: String,
    /// Empty for a share, and for money.
    pub unit: String,
    pub better: Way,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<ValueDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<ValueDocument>,
    /// other - base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// In percent of the base; absent if the base is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// The interval of the difference. All intervals of the pair hold together, except with the probability `familyError`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// `interval` in percent of the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_percent: Option<[f64; 2]>,
    /// The 95 % interval of the difference for this figure alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval95: Option<[f64; 2]>,
    pub verdict: Verdict,
    /// Why the figure is undecided, or a note on the verdict; empty if there is nothing to report.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// A figure of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueDocument {
    pub value: f64,
    /// `low` and `high`: its 95 % interval.
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
    /// In words.
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
    /// No figure is worse, but a figure that must be decided is undecided.
    Inconclusive,
}

impl GateOutcome {
    /// In words.
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
    /// Absent: every worsening fails the gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Empty: all figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<String>,
    /// The largest worsening of a deciding figure that the runs do not exclude; absent if no deciding figure has an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_not_ruled_out: Option<NotRuledOut>,
    /// Why it did not pass, one entry per reason.
    pub reasons: Vec<String>,
}

/// A possible worsening, from the 95 % interval of the difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NotRuledOut {
    /// The figure with its run and stage.
    pub figure: String,
    /// In percent of the base; below 0 if the figure is certainly better.
    pub percent: f64,
}
