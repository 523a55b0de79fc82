//! The settings of a search.

use serde::{Deserialize, Serialize};

/// The unit of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Requests per second of an open loop.
    RequestsPerSecond,
    /// Users of a closed loop, each with one request in flight. A whole number.
    Concurrency,
}

/// How a search treats a server that does not return to its former latencies after an overload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recovery {
    /// The answer is a load to which the server returns from an overload.
    #[default]
    Required,
    /// The answer is the highest confirmed load. The report contains whether the server returns to it.
    Reported,
    /// There is no trial from above.
    Off,
}

impl Recovery {
    /// Whether the search ends with a trial from above.
    pub(crate) fn is_tried(self) -> bool {
        self != Recovery::Off
    }
}

/// The settings of a search. Times are in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    pub unit: Unit,
    /// The load of the first trial.
    pub first: f64,
    /// The lowest load to try; at least 1 for a concurrency.
    pub lowest: f64,
    /// The highest load to try.
    pub highest: f64,
    /// The factor between two growing loads, above 1.
    pub growth: f64,
    /// Total time of all trials, including warm-ups and pauses.
    pub budget: f64,
    /// Maximum probability that the answer is above the capacity; above 0 and below 1.
    pub risk: f64,
    pub recovery: Recovery,
}

impl Settings {
    /// Returns the default settings for this unit.
    pub fn new(unit: Unit) -> Settings {
        Settings {
            unit,
            first: 1.0,
            lowest: if unit == Unit::Concurrency { 1.0 } else { 1.0 / 64.0 },
            highest: 1e6,
            growth: 2.0,
            budget: 1_200.0,
            risk: 0.05,
            recovery: Recovery::Required,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.unit == Unit::Concurrency
    }

    /// Rounds a load to one that can be run: a whole number of at least 1 for a concurrency, three significant digits and at most the highest load
    /// for a rate.
    pub(crate) fn fit(&self, load: f64) -> f64 {
        match self.unit {
            Unit::Concurrency => (load + 1e-9).floor().max(1.0),
            Unit::RequestsPerSecond => format!("{load:.2e}").parse().unwrap_or(load).min(self.highest),
        }
    }
}
