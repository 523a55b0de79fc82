//! The work that the server requests from the engine, and how an answer ends. Pure.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::blocks::BlockHashes;

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model ended it.
    Stop,
    /// It reached its greatest length.
    Length,
    /// The server shuts down.
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

/// A request as the engine sees it.
#[derive(Clone, Debug)]
pub struct Work {
    /// Length of the prompt, at least 1.
    pub prompt_tokens: u32,
    /// Length of the answer, at least 1.
    pub output_tokens: u32,
    /// The maximum length of the answer.
    pub max_tokens: u32,
    /// How the answer ends at that length.
    pub finish: Finish,
    /// The seed of the words of the answer.
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
    /// The choices of a prompt with `count` choices.
    pub fn new(count: u32) -> Self {
        Siblings { count, ended: AtomicU32::new(0), longest: AtomicU32::new(0) }
    }

    /// A choice ended with `tokens` tokens. For the last choice it returns their number, and the length of the longest.
    pub fn end(&self, tokens: u32) -> Option<(u32, u32)> {
        let longest = self.longest.fetch_max(tokens, Ordering::Relaxed).max(tokens);
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        (ended == self.count).then_some((self.count, longest))
    }
}
