//! Trials: their plans and their results.

use serde::{Deserialize, Serialize};

/// The purpose of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Warms up the server. It has no verdict.
    WarmUp,
    /// Multiplies the load until it fails.
    Grow,
    /// Narrows down where the edge is.
    Narrow,
    /// Tests with the given risk whether the objectives hold.
    Confirm,
    /// Overloads the server, and then lowers the load to the planned one.
    FromAbove,
}

impl Role {
    /// Whether a trial informs the search without confirming a load.
    pub(crate) fn explores(self) -> bool {
        matches!(self, Role::Grow | Role::Narrow)
    }
}

/// The result of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The objectives hold. In a trial from above: the server returned to the load.
    Passed,
    Failed,
    /// The time did not suffice, or the trial has no verdict.
    Undecided,
    /// The client could not send the load, so that the trial shows nothing about the server.
    ClientLimited,
}

/// Effective counts of an objective: requests that missed it, and all requests, each divided by the autocorrelation time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    pub misses: f64,
    pub requests: f64,
}

impl Counts {
    pub(crate) fn plus(self, other: Counts) -> Counts {
        Counts { misses: self.misses + other.misses, requests: self.requests + other.requests }
    }
}

/// A trial to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub role: Role,
    /// The load. In a trial from above: the load after the overload.
    pub load: f64,
    /// Maximum duration in seconds, including the warm-up. The trial ends earlier once it is decided.
    pub seconds: f64,
    /// In a confirming trial: maximum probability that it passes at a load above the capacity. 0 for other roles.
    pub risk: f64,
    /// Whether this is a confirming trial after a lower load has passed. It then ends early if it is unlikely to pass.
    pub climbing: bool,
    /// In a confirming trial: the counts of undecided confirmations at this load or above, per objective. They also count for this load. May be
    /// empty.
    pub carried: Vec<Counts>,
}

/// A trial that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub role: Role,
    pub load: f64,
    /// The time that the trial took from the budget, in seconds, including warm-up and pause.
    pub seconds: f64,
    pub verdict: Verdict,
    /// The probability that all objectives hold at this load, from 0 to 1.
    pub belief: f64,
    /// In a confirming trial: the counts per objective. Empty for other roles.
    pub counts: Vec<Counts>,
}
