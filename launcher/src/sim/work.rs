//! What the server asks of the engine, and how an answer ends. Pure.

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Length of the prompt, at least 1.
    pub prompt_tokens: u32,
    /// Length of the answer, at least 1.
    pub output_tokens: u32,
    /// The greatest length of the answer.
    pub max_tokens: u32,
    /// How the answer ends once it has that length.
    pub finish: Finish,
    /// The seed of the words of the answer.
    pub words: u64,
    /// The digests of the full blocks of the prompt.
    pub blocks: BlockHashes,
}
