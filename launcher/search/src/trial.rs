//! Trials: what to run, and what came of it.

use serde::{Deserialize, Serialize};

/// What a trial is for.
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
    /// Lowers the load to this one from an overload.
    FromAbove,
    /// Was run for another tier, and informs this one.
    Aside,
}

impl Role {
    /// Whether a trial only informs the search.
    pub(crate) fn explores(self) -> bool {
        matches!(self, Role::Grow | Role::Narrow | Role::Aside)
    }
}

/// What a trial showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The objectives hold. From above: the server returned to the load.
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
    /// From above: the load after the overload.
    pub load: f64,
    /// Maximum duration in seconds, with the warm-up. The trial ends earlier once it is decided.
    pub seconds: f64,
    /// Confirm: the probability, at most, that the trial passes at a load above the capacity. 0 for other roles.
    pub risk: f64,
    /// Confirm: a lower load has passed, so the trial is ended early if it has little prospect.
    pub climbing: bool,
    /// Confirm: the counts of undecided confirmations at this load or above, per objective. They hold for this load too. May be empty.
    pub carried: Vec<Counts>,
}

/// A trial that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub role: Role,
    pub load: f64,
    /// The time it took from the budget, with warm-up and pause.
    pub seconds: f64,
    pub verdict: Verdict,
    /// How likely all objectives hold at this load, 0 to 1.
    pub belief: f64,
    /// Confirm: the counts per objective.
    pub counts: Vec<Counts>,
}
