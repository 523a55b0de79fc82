//! The sources of the texts and lengths of sessions with consecutive turns. Pure.

use std::{sync::Arc, time::Duration};

use super::{
    conversations::Conversations,
    repeated_prompts::RepeatedPrompts,
    turn::{NewTurn, Opening},
};
use crate::requests::Texts;
use prompts::Rows;

/// The source of the texts and lengths of chains.
#[derive(Clone, Debug)]
pub(super) enum ChainTexts {
    Conversations(Arc<Conversations>),
    Repeated(Arc<RepeatedPrompts>),
    Rows(Arc<Rows>),
}

impl ChainTexts {
    pub(super) fn opening(&self, words: &Texts, stage: usize, content: u64) -> Opening {
        match self {
            ChainTexts::Conversations(it) => it.opening(words, stage, content),
            ChainTexts::Repeated(_) => Opening::default(),
            ChainTexts::Rows(rows) => Opening { system: rows.system(content).to_owned(), ..Opening::default() },
        }
    }

    /// Returns the number of turns in a session; `None` if it has no end.
    pub(super) fn turns(&self, content: u64) -> Option<u32> {
        match self {
            ChainTexts::Conversations(it) => Some(it.turns(content)),
            ChainTexts::Repeated(_) => None,
            ChainTexts::Rows(rows) => u32::try_from(rows.turns(content).len()).ok(),
        }
    }

    /// Generates a turn. Turns count from 0.
    pub(super) fn turn(&self, words: &Texts, stage: usize, content: u64, turn: u32) -> NewTurn {
        match self {
            ChainTexts::Conversations(it) => it.turn(words, stage, content, turn),
            ChainTexts::Repeated(it) => it.turn(words, stage, content),
            ChainTexts::Rows(rows) => {
                let turn = rows.turns(content).nth(turn as usize);
                let (user, output) = turn.map_or(("", None), |it| (it.text, it.output));
                NewTurn { user: user.into(), input: None, output, think_time: Duration::ZERO }
            }
        }
    }

    /// Whether the prompt of a turn contains the earlier turns.
    pub(super) fn has_history(&self) -> bool {
        match self {
            ChainTexts::Conversations(it) => it.has_history(),
            ChainTexts::Repeated(_) | ChainTexts::Rows(_) => true,
        }
    }

    /// Returns the maximum total of prompt and answer tokens; `None` means no limit.
    pub(super) fn max_context(&self) -> Option<u32> {
        match self {
            ChainTexts::Conversations(it) => it.max_context(),
            ChainTexts::Repeated(_) | ChainTexts::Rows(_) => None,
        }
    }
}
