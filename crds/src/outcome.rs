//! The outcome of a run.

use serde::{Deserialize, Serialize};

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Outcome {
    /// The figures count, and no objective was missed.
    Passed,
    /// The figures count, and they miss an objective of `spec.slo`.
    SLOViolated,
    /// The figures count, and do not decide every objective of `spec.slo`; none was missed.
    Inconclusive,
    /// There are figures, but they do not count: see the reason.
    Invalid,
    /// There are no figures.
    Error,
    /// A user ended the run early.
    Cancelled,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Outcome; 6] = [
        Outcome::Passed,
        Outcome::SLOViolated,
        Outcome::Inconclusive,
        Outcome::Invalid,
        Outcome::Error,
        Outcome::Cancelled,
    ];

    /// Whether there are figures that count: the measurement is complete and valid.
    pub fn has_valid_figures(self) -> bool {
        matches!(self, Outcome::Passed | Outcome::SLOViolated | Outcome::Inconclusive)
    }

    /// The word that a status, a report and a log use.
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
