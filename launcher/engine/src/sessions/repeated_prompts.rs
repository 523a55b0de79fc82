//! Simulated users who send the same prompt in every turn, as in inference-perf's multi-turn chat with shared prefixes. Pure.

use std::time::Duration;

use super::turn::NewTurn;
use crate::requests::{SharedPrefix, Texts};

/// The users. There is one for each prompt of the shared prefixes.
#[derive(Debug)]
pub(super) struct RepeatedPrompts(SharedPrefix);

impl RepeatedPrompts {
    pub(super) fn new(prompts: SharedPrefix) -> RepeatedPrompts {
        RepeatedPrompts(prompts)
    }

    /// Returns the number of users.
    pub(super) fn count(&self) -> u64 {
        self.0.count()
    }

    pub(super) fn turn(&self, words: &Texts, stage: usize, user: u64) -> NewTurn {
        let mut text = String::new();
        let requested = self.0.write(words, stage, user, &mut text);
        NewTurn { user: text.into(), input: requested.input, output: requested.output, think_time: Duration::ZERO }
    }
}
