//! What the turns of a chain hold. Pure.

use std::{sync::Arc, time::Duration};

/// What all turns of a chain begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Opening {
    /// The message of the system; empty: none.
    pub(super) system: String,
    /// The text before the first message of the user; empty: none.
    pub(super) prefix: String,
    /// Tokens of both.
    pub(super) tokens: u32,
}

/// What one turn of a chain adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewTurn {
    /// The message of the user.
    pub(super) user: Arc<str>,
    /// Its length in tokens, where it is known.
    pub(super) input: Option<u32>,
    /// The requested length of the answer; `None`: the server decides.
    pub(super) output: Option<u32>,
    /// The time between the end of the turn before and this turn.
    pub(super) think_time: Duration,
}

/// A turn with its answer.
#[derive(Clone, Debug)]
pub(super) struct PastTurn {
    pub(super) user: Arc<str>,
    pub(super) answer: Box<str>,
    /// Tokens of both.
    pub(super) tokens: u32,
}

impl PastTurn {
    pub(super) fn new(user: Arc<str>, answer: Box<str>, tokens: u32) -> PastTurn {
        PastTurn { user, answer, tokens }
    }

    /// Bytes of its texts.
    pub(super) fn bytes(&self) -> usize {
        self.user.len() + self.answer.len()
    }
}
