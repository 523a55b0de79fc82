//! The accuracy of a run's answers, as the launcher reports it and the status shows it. `report.json` has all the numbers.

#[cfg(feature = "kube")]
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::objective::Met;

/// Maximum number of figures in a status.
pub const MAX_FIGURES: usize = 8;

/// Whether the accuracy of the answers meets the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum AccuracyVerdict {
    /// All limits are met.
    Passed,
    /// A limit is missed.
    Failed,
    /// There are limits, but the answers do not suffice to decide whether they are met.
    Undecided,
    /// There is no limit, or the run covers only a part of the samples that the limits apply to.
    NotJudged,
}

impl AccuracyVerdict {
    /// The name of the verdict in statuses and reports.
    pub fn name(self) -> &'static str {
        match self {
            AccuracyVerdict::Passed => "Passed",
            AccuracyVerdict::Failed => "Failed",
            AccuracyVerdict::Undecided => "Undecided",
            AccuracyVerdict::NotJudged => "NotJudged",
        }
    }
}

/// The accuracy of a run, formatted as text for the status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct AccuracyStatus {
    /// How the answers were scored: by an MLPerf benchmark such as `llama3.1-8b`, or by a check such as `rouge`.
    #[cfg_attr(feature = "kube", schemars(length(max = 40)))]
    pub check: String,
    /// Whether the limits are met.
    pub verdict: AccuracyVerdict,
    /// Number of scored answers.
    pub scored: u64,
    /// The first 8 accuracy figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 8)))]
    #[cfg_attr(feature = "kube", x_kube(merge_strategy = ListMerge::Map(vec!["name".to_string()])))]
    pub figures: Vec<AccuracyFigureStatus>,
}

/// One accuracy figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "kube", derive(KubeSchema))]
pub struct AccuracyFigureStatus {
    /// The name of the figure, such as `rouge1`.
    #[cfg_attr(feature = "kube", schemars(length(max = 40)))]
    pub name: String,
    /// The value, such as `38.8638`. The field is absent if the value was not computed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 32)))]
    pub value: String,
    /// The limits, such as `at least 38.3914`. The field is absent if there are no limits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "kube", schemars(length(max = 64)))]
    pub limit: String,
    /// Whether the limits are met. The field is absent if there are no limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<Met>,
}
