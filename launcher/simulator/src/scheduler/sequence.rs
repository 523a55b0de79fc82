//! A request while the scheduler processes it.

use std::time::Duration;

use super::super::kv_cache::{HeldBlocks, KvCache};
use super::super::text;
use super::super::work::Work;

/// A request in the engine. Times are simulated.
#[derive(Debug)]
pub struct Sequence<T> {
    /// The owner of the request.
    pub owner: T,
    /// The work that the request requires.
    pub work: Work,
    /// When the request arrived.
    pub arrived: Duration,
    /// When it was admitted to the batch.
    pub admitted: Duration,
    /// When its first token was ready.
    pub first_token: Duration,
    /// When its newest token was ready.
    pub last_token: Duration,
    /// Number of answer tokens so far.
    pub generated: u32,
    /// Number of prompt tokens from the prefix cache at the first admission.
    pub cached: u32,
    /// How often the request was preempted.
    pub preemptions: u32,
    pub(super) computed: u32,
    pub(super) scheduled: u32,
    pub(super) held: HeldBlocks,
    /// Number of answer tokens whose digests are known.
    hashed: u32,
}

impl<T> Sequence<T> {
    /// Creates a sequence that arrived at `arrived`.
    pub fn new(owner: T, work: Work, arrived: Duration) -> Self {
        Sequence {
            owner,
            work,
            arrived,
            admitted: arrived,
            first_token: arrived,
            last_token: arrived,
            generated: 0,
            cached: 0,
            preemptions: 0,
            computed: 0,
            scheduled: 0,
            held: HeldBlocks::default(),
            hashed: 0,
        }
    }

    /// Whether its answer is complete.
    pub fn is_finished(&self) -> bool {
        self.generated >= self.work.output_tokens
    }

    /// Number of tokens in the prompt and in the answer so far.
    pub(super) fn tokens(&self) -> u32 {
        self.work.prompt_tokens + self.generated
    }

    /// Adds the full blocks of the first `tokens` tokens to the prefix cache.
    pub(super) fn seal(&mut self, cache: &mut KvCache, tokens: u32) {
        let full = (tokens / cache.block_size()) as usize;
        while self.work.blocks.full().len() < full {
            self.work.blocks.push(text::word_id(self.work.words, self.hashed));
            self.hashed += 1;
        }
        cache.seal(&mut self.held, &self.work.blocks.full()[..full]);
    }
}
