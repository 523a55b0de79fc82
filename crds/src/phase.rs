//! The phase of a run.

use serde::{Deserialize, Serialize};

/// The phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Phase {
    /// Waits before it begins: for the ConfigMap of its profile, for its Gateway, for a target that another run uses, for a place in its namespace,
    /// or until the operator can read the objects that the run needs.
    Pending,
    /// spec.suspend is true.
    Suspended,
    /// ConfigMap and volume are being created; before that the run's server starts, if it has one.
    Preparing,
    /// The Job exists; its pod is scheduled, pulls, waits for the target.
    Starting,
    /// The launcher measures.
    Running,
    /// The Job has ended, its result is being read; or its server is being removed.
    Collecting,
    /// The figures count, and they meet every objective that spec.slo enforces.
    Succeeded,
    /// No figures, figures that do not count, or figures that do not meet the objectives of spec.slo.
    Failed,
    /// A user ended the run early.
    Cancelled,
}

impl Phase {
    /// Every phase.
    pub const ALL: [Phase; 9] = [
        Phase::Pending,
        Phase::Suspended,
        Phase::Preparing,
        Phase::Starting,
        Phase::Running,
        Phase::Collecting,
        Phase::Succeeded,
        Phase::Failed,
        Phase::Cancelled,
    ];

    /// Whether the run stays in this phase for ever.
    pub fn is_terminal(self) -> bool {
        matches!(self, Phase::Succeeded | Phase::Failed | Phase::Cancelled)
    }

    /// The word that a status and a log use.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Pending => "Pending",
            Phase::Suspended => "Suspended",
            Phase::Preparing => "Preparing",
            Phase::Starting => "Starting",
            Phase::Running => "Running",
            Phase::Collecting => "Collecting",
            Phase::Succeeded => "Succeeded",
            Phase::Failed => "Failed",
            Phase::Cancelled => "Cancelled",
        }
    }
}
