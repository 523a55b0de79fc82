//! The time and the settings of a decision.

use jiff::Timestamp;

/// Inputs of a decision besides the run and the observations.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Defaults that this installation sets.
    pub settings: &'a crds::Settings,
    /// The current time.
    pub now: Timestamp,
}
