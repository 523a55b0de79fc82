//! Why a run waits for its target.

use std::time::Duration;

use super::line::Busy;

/// The reason and the times of a run that may not begin yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Who is in front of it.
    pub busy: Busy,
    /// Whether the last message stays: a run of a long line is not rewritten whenever the line moves.
    pub keep_message: bool,
    /// When to look again if nothing wakes it.
    pub next_look: Duration,
}
