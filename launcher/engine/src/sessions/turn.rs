//! The content of a session's turns. Pure.

use std::{sync::Arc, time::Duration};

/// The texts that all turns of a chain begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Opening {
    /// The system message; empty: none.
    pub(super) system: String,
    /// The text before the first user message; empty: none.
    pub(super) prefix: String,
    /// Total number of tokens in both texts.
    pub(super) tokens: u32,
}

/// The content that one turn adds to a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewTurn {
    /// The text of the user message.
    pub(super) user: Arc<str>,
    /// Length of the turn's input, in tokens, if it is known.
    pub(super) input: Option<u32>,
    /// Requested maximum output tokens; `None` means that the server decides.
    pub(super) output: Option<u32>,
    /// The time from the end of the previous turn to this turn.
    pub(super) think_time: Duration,
}

/// A turn with its answer.
#[derive(Clone, Debug)]
pub(super) struct PastTurn {
    pub(super) user: Arc<str>,
    pub(super) answer: Box<str>,
    /// Total number of tokens in both texts.
    pub(super) tokens: u32,
}

impl PastTurn {
    pub(super) fn new(user: Arc<str>, answer: Box<str>, tokens: u32) -> PastTurn {
        PastTurn { user, answer, tokens }
    }

    /// Returns the total size of both texts, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.user.len() + self.answer.len()
    }
}
