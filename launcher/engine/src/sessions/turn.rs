//! The content of a chain's turns. Pure.

use std::{sync::Arc, time::Duration};

/// The texts with which all turns of a chain begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Opening {
    /// The system message; empty: none.
    pub(super) system: String,
    /// The text before the first user message; empty: none.
    pub(super) prefix: String,
    /// Total tokens of both.
    pub(super) tokens: u32,
}

/// The content that one turn adds to a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewTurn {
    /// The user message.
    pub(super) user: Arc<str>,
    /// The length of the turn's input in tokens, if it is known.
    pub(super) input: Option<u32>,
    /// The requested length of the answer; `None`: the server decides.
    pub(super) output: Option<u32>,
    /// The time between the end of the previous turn and this turn.
    pub(super) think_time: Duration,
}

/// A turn with its answer.
#[derive(Clone, Debug)]
pub(super) struct PastTurn {
    pub(super) user: Arc<str>,
    pub(super) answer: Box<str>,
    /// Total tokens of both.
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
