//! A comparison as its JSON has it, and as its pages read it. `docs/compare.md` explains each key.

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
    /// Differences below this many percent of the larger value are none.
    pub smallest_percent: f64,
    /// The base first.
    pub runs: Vec<RunDocument>,
    /// Each other run with the base.
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
    /// What the server said it is; absent where it said nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    pub started: Timestamp,
    pub outcome: Outcome,
    /// Runs of a series whose figures are means over them; absent for a single run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<usize>,
    /// As the report has it; absent where the answers were not scored.
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

/// A run beside the base.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PairDocument {
    /// The name of the other run.
    pub run: String,
    /// The result of the comparison.
    pub answer: Answer,
    /// The same in a sentence.
    pub sentence: String,
    /// What differs beside the figures; what makes figures incomparable first.
    pub remarks: Vec<Remark>,
    pub stages: Vec<StagePairDocument>,
    /// Stages that one of both runs has alone.
    pub unmatched: Vec<UnmatchedDocument>,
    /// Number of families of figures, over all stages, whose intervals hold together.
    pub families: usize,
}

/// A stage that has no partner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnmatchedDocument {
    /// The name of the run that has it.
    pub run: String,
    pub stage: String,
    pub why: String,
}

/// A stage of both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StagePairDocument {
    /// Its name in the base.
    pub base: String,
    /// Its name in the other run.
    pub other: String,
    /// The result for this stage.
    pub answer: Answer,
    /// The same in a sentence.
    pub sentence: String,
    /// The duration of the shorter one.
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
    /// Every difference above a bound is ruled out.
    Equal,
    /// The intervals are too wide to decide.
    Undecided,
    NotComparable,
}

/// A figure of both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FigureDocument {
    pub figure: String,
    #[serde(skip)]
    pub(crate) family: Family,
    /// What a table calls it.
    pub title: String,
    /// Empty for a share of one, and for money.
    pub unit: String,
    pub better: Way,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<ValueDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<ValueDocument>,
    /// other - base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// In percent of the base; absent where that is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// The interval of the difference. All intervals of the pair hold together, except with the probability `familyError`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// The same in percent of the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_percent: Option<[f64; 2]>,
    /// The interval of the difference at 95 % for this figure alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval95: Option<[f64; 2]>,
    pub verdict: Verdict,
    /// Why it cannot be decided, or what to know of the verdict; empty where there is nothing to say.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// A figure of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueDocument {
    pub value: f64,
    /// Its interval of 95 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// What a difference is.
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

/// How a gate came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum GateOutcome {
    Passed,
    /// A figure is worse.
    Regression,
    /// No figure is worse, and not all that has to be decided is.
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
    /// Absent: every difference to the worse fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// Empty: all figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<String>,
    /// The largest worsening of a figure that decides, which the runs do not rule out; absent where none has an interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_not_ruled_out: Option<NotRuledOut>,
    /// Why it did not pass, one by one.
    pub reasons: Vec<String>,
}

/// A worsening that may be there, by the interval of the difference at 95 %.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NotRuledOut {
    /// With its run and stage.
    pub figure: String,
    /// Of the base; below 0 where the figure is better for sure.
    pub percent: f64,
}
