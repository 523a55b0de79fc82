//! The phase of a run.

use serde::{Deserialize, Serialize};

/// The phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "kube", derive(schemars::JsonSchema))]
pub enum Phase {
    /// The run waits to begin: for the ConfigMap of its profile, for its Gateway, for a target that another run uses, for a free slot in its
    /// namespace, or until the operator can read the objects that the run needs.
    Pending,
    /// spec.suspend is true.
    Suspended,
    /// ConfigMap and volume are being created. If the run has a server, the server starts first.
    Preparing,
    /// The Job exists. Its pod is being scheduled, pulls its image, or waits for the target.
    Starting,
    /// The launcher measures.
    Running,
    /// The Job has ended. Its result is being read, or the run's server is being removed.
    Collecting,
    /// The figures are valid, and they meet every objective that spec.slo enforces.
    Succeeded,
    /// There are no figures, the figures are not valid, or they do not meet the objectives of spec.slo.
    Failed,
    /// A user ended the run early.
    Cancelled,
}

impl Phase {
    /// All phases.
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

    /// Whether the phase is final.
    pub fn is_terminal(self) -> bool {
        matches!(self, Phase::Succeeded | Phase::Failed | Phase::Cancelled)
    }

    /// The name in statuses and logs.
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
