//! The work that the server requests from the engine, and how an answer ends. Pure.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::blocks::BlockHashes;

/// The reason why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model ended the answer.
    Stop,
    /// The answer reached its maximum length.
    Length,
    /// The server is shutting down.
    Abort,
}

impl Finish {
    /// The value of `finish_reason`.
    pub fn name(self) -> &'static str {
        match self {
            Finish::Stop => "stop",
            Finish::Length => "length",
            Finish::Abort => "abort",
        }
    }
}

/// The work of one request in the engine.
#[derive(Clone, Debug)]
pub struct Work {
    /// Length of the prompt in tokens, at least 1.
    pub prompt_tokens: u32,
    /// Length of the answer in tokens, at least 1.
    pub output_tokens: u32,
    /// Maximum length of the answer, in tokens.
    pub max_tokens: u32,
    /// The reason why the answer ends at `output_tokens`.
    pub finish: Finish,
    /// The seed from which the words of the answer are derived.
    pub words: u64,
    /// The digests of the full blocks of the prompt.
    pub blocks: BlockHashes,
    /// The other choices of the same prompt, if any.
    pub siblings: Option<Arc<Siblings>>,
}

/// The choices of one prompt.
#[derive(Debug)]
pub struct Siblings {
    count: u32,
    ended: AtomicU32,
    longest: AtomicU32,
}

impl Siblings {
    /// Creates the shared state for a prompt with `count` choices.
    pub fn new(count: u32) -> Self {
        Siblings { count, ended: AtomicU32::new(0), longest: AtomicU32::new(0) }
    }

    /// Records that a choice ended with `tokens` tokens. For the last choice, returns the number of choices, and the length of the longest one.
    pub fn end(&self, tokens: u32) -> Option<(u32, u32)> {
        let longest = self.longest.fetch_max(tokens, Ordering::Relaxed).max(tokens);
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        (ended == self.count).then_some((self.count, longest))
    }
}
