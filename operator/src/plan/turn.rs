//! When a decision is made, and by which settings.

use jiff::Timestamp;

/// What a decision needs beside the run and what was observed.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Defaults that this installation sets.
    pub settings: &'a crds::Settings,
    /// The current time.
    pub now: Timestamp,
}
