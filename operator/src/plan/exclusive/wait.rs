//! The reason why a run waits for its target.

use std::time::Duration;

use super::line::Busy;

/// The reason why a run may not begin yet, and when the operator checks again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The run in front of it, and its position in line.
    pub busy: Busy,
    /// Whether to keep the last message of the status. Otherwise each movement of a long line would cause a status write for every waiting run.
    pub keep_message: bool,
    /// Time to the next reconciliation if nothing wakes the run before.
    pub next_look: Duration,
}
