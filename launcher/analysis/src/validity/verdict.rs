//! The verdict on a measurement, and its reasons.

use std::fmt;

use crds::{LauncherReason, outcome::Outcome};

use crate::loadgen::verdict::TestVerdict;

/// A reason for the outcome of a run, as a name and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The name as the status shows it: `RunSucceeded`, `TooManyErrors` and so on.
    pub name: LauncherReason,
    /// What was found, what was allowed, and what to do. Empty for a successful run.
    pub message: String,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.message.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.name, self.message)
    }
}

/// The verdict on a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Passed, Invalid or Cancelled.
    pub outcome: Outcome,
    /// Every reason that applies; never empty. The first one is the headline.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// The reason that a status shows.
    pub fn headline(&self) -> &Reason {
        self.reasons.first().expect("judge() always gives a reason")
    }

    /// Applies the verdicts on LoadGen tests. The run is invalid if one of its tests does not count.
    pub(crate) fn add_loadgen<'a>(&mut self, tests: impl Iterator<Item = &'a TestVerdict>) {
        let against = tests.filter(|it| !it.counts()).map(|test| {
            let (folder, scenario) = (&test.folder, test.scenario.name());
            let message = format!("the {scenario} test in {folder}: {}", test.reasons.join(" "));
            Reason { name: LauncherReason::LoadGenInvalid, message }
        });
        let before = self.reasons.len();
        self.reasons.extend(against);
        if self.outcome == Outcome::Passed && self.reasons.len() > before {
            self.reasons.retain(|it| it.name != LauncherReason::RunSucceeded);
            self.outcome = Outcome::Invalid;
        }
    }

    /// Adds why the target stopped answering, if the verdict reports that it stopped. `why` is a sentence without text from a server.
    pub(crate) fn explain_lost_target(&mut self, why: &str) {
        for reason in self.reasons.iter_mut().filter(|it| it.name == LauncherReason::TargetLost) {
            reason.message = format!("{why}; {}", reason.message);
        }
    }

    /// Whether the verdict has this reason.
    pub(crate) fn has(&self, name: LauncherReason) -> bool {
        self.reasons.iter().any(|it| it.name == name)
    }
}
