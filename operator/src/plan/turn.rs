//! The time and the settings for a decision.

use jiff::Timestamp;

/// The inputs of a decision besides the run and the observations.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Defaults that this installation sets for runs.
    pub settings: &'a crds::Settings,
    /// The current time.
    pub now: Timestamp,
}
