//! Why a run waits for its target.

use std::time::Duration;

use super::line::Busy;

/// The reason and the times of a run that may not begin yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Who is in front of it.
    pub busy: Busy,
    /// Whether to keep the last message: a long line would otherwise cause a status write per waiting run whenever it moves.
    pub keep_message: bool,
    /// When to look again if nothing wakes the run.
    pub next_look: Duration,
}
