//! The accuracy of a run's answers, as the launcher reports it and as the status shows it. `report.json` has the numbers.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::objective::Met;

/// Maximum number of figures in a status.
pub const MAX_FIGURES: usize = 8;

/// Whether the answers are good enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum AccuracyVerdict {
    /// All limits are met.
    Passed,
    /// A limit is missed.
    Failed,
    /// There are limits, and the answers do not decide whether they are met.
    Undecided,
    /// There is no limit, or the run covers only a part of the samples that the limits apply to.
    NotJudged,
}

impl AccuracyVerdict {
    /// The word that a status and a report use.
    pub fn name(self) -> &'static str {
        match self {
            AccuracyVerdict::Passed => "Passed",
            AccuracyVerdict::Failed => "Failed",
            AccuracyVerdict::Undecided => "Undecided",
            AccuracyVerdict::NotJudged => "NotJudged",
        }
    }
}

/// The accuracy of a run in a status: texts for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct AccuracyStatus {
    /// How answers were compared with what was expected: a benchmark of MLPerf such as `llama3.1-8b`, or a check such as `rouge`.
    #[cfg_attr(feature = "kube", schemars(length(max = 40)))]
    pub check: String,
    /// Whether the limits are met.
    pub verdict: AccuracyVerdict,
    /// Number of scored answers.
    pub scored: u64,
    /// The figures, the first 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 8)))]
    #[cfg_attr(feature = "kube", x_kube(merge_strategy = ListMerge::Map(vec!["name".to_string()])))]
    pub figures: Vec<AccuracyFigureStatus>,
}

/// One figure of the accuracy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct AccuracyFigureStatus {
    /// The name of the figure, such as `rouge1`.
    #[cfg_attr(feature = "kube", schemars(length(max = 40)))]
    pub name: String,
    /// The value, such as `38.8638`; absent if it was not computed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub value: String,
    /// The limits, such as `at least 38.3914`; absent without limits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 64)))]
    pub limit: String,
    /// Whether the limits are met; absent without limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<Met>,
}
