//! The outcome of a run.

use serde::{Deserialize, Serialize};

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Outcome {
    /// The figures are valid, and no objective was missed.
    Passed,
    /// The figures are valid, but they miss an objective of `spec.slo`.
    SLOViolated,
    /// The figures are valid and miss no objective of `spec.slo`, but at least one objective cannot be decided.
    Inconclusive,
    /// There are figures, but they are not valid. The reason says why.
    Invalid,
    /// There are no figures.
    Error,
    /// A user ended the run early.
    Cancelled,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Outcome; 6] = [
        Outcome::Passed,
        Outcome::SLOViolated,
        Outcome::Inconclusive,
        Outcome::Invalid,
        Outcome::Error,
        Outcome::Cancelled,
    ];

    /// Whether there are valid figures, from a complete measurement.
    pub fn has_valid_figures(self) -> bool {
        matches!(self, Outcome::Passed | Outcome::SLOViolated | Outcome::Inconclusive)
    }

    /// The name in statuses, reports and logs.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Passed => "Passed",
            Outcome::SLOViolated => "SLOViolated",
            Outcome::Inconclusive => "Inconclusive",
            Outcome::Invalid => "Invalid",
            Outcome::Error => "Error",
            Outcome::Cancelled => "Cancelled",
        }
    }
}
