//! One session with turns that follow each other: its next prompt, and its history so far. Pure.

use std::{collections::VecDeque, num::NonZeroU32, sync::Arc, time::Duration};

use super::{
    chain_texts::ChainTexts,
    prompt::PromptStyle,
    turn::{NewTurn, PastTurn},
};
use crate::requests::{RequestedLengths, Texts};

/// Maximum bytes of history that a session keeps: more than the longest context of a model.
pub(crate) const MAX_HISTORY: usize = 8 << 20;

/// A session in flight.
#[derive(Debug)]
pub(crate) struct Chain {
    texts: ChainTexts,
    stage: usize,
    /// The index of the session among the distinct sessions.
    content: u64,
    /// The number of turns; `None`: the session does not end.
    turns: Option<u32>,
    /// Number of turns made so far.
    made: u32,
    has_begun: bool,
    /// The last turn that was made, until its answer arrives.
    asked: Option<Asked>,
    past: VecDeque<PastTurn>,
    past_bytes: usize,
}

/// A turn without its answer.
#[derive(Clone, Debug)]
struct Asked {
    user: Arc<str>,
    tokens: u32,
}

/// The server's answer to a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// Length of the text in tokens.
    pub(crate) tokens: u32,
}

/// A turn that can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextTurn {
    /// The number of the turn in the session, from 1.
    pub(crate) number: NonZeroU32,
    /// The lengths of the whole prompt and of the answer.
    pub(crate) requested: RequestedLengths,
    /// The time between the end of the previous turn and this turn.
    pub(crate) think_time: Duration,
    /// Earlier turns were left out of the prompt, because the context is full.
    pub(crate) is_shortened: bool,
}

impl Chain {
    pub(super) fn new(texts: ChainTexts, stage: usize, content: u64) -> Chain {
        let turns = texts.turns(content);
        let (past, past_bytes) = (VecDeque::new(), 0);
        Chain { texts, stage, content, turns, made: 0, has_begun: false, asked: None, past, past_bytes }
    }

    /// Number of turns that were not made; `None`: the session does not end.
    pub(crate) fn turns_left(&self) -> Option<u32> {
        self.turns.map(|it| it.saturating_sub(self.made))
    }

    /// Makes the next turn, and appends its prompt to `text`; `None` after the last turn. A turn without an answer is dropped.
    pub(crate) fn next(&mut self, words: &Texts, style: PromptStyle, text: &mut String) -> Option<NextTurn> {
        if self.turns_left() == Some(0) {
            return None;
        }
        let NewTurn { user, input, output, think_time } = self.texts.turn(words, self.stage, self.content, self.made);
        let own = input.unwrap_or_default();
        // Made again for each turn: otherwise each session would hold its own copy of texts that all sessions share.
        let opening = self.texts.opening(words, self.stage, self.content);
        let further = opening.tokens.saturating_add(own).saturating_add(output.unwrap_or_default());
        let is_shortened = self.shorten(further);
        style.write(&opening, &self.past, &user, text);
        let history = self.past_tokens();
        let whole = input.map(|it| it.saturating_add(history).saturating_add(opening.tokens));
        let is_first = !self.has_begun;
        self.has_begun = true;
        self.made += 1;
        self.asked = Some(Asked { user, tokens: own });
        Some(NextTurn {
            number: NonZeroU32::new(self.made).unwrap_or(NonZeroU32::MIN),
            requested: RequestedLengths { input: whole, is_exact: false, output },
            think_time: if is_first { Duration::ZERO } else { think_time },
            is_shortened,
        })
    }

    /// Leaves out the turns before `first` and from `end` on.
    pub(crate) fn limit(&mut self, first: u32, end: Option<u32>) {
        self.turns = match (self.turns, end) {
            (Some(turns), Some(end)) => Some(turns.min(end)),
            (turns, end) => turns.or(end),
        };
        // At least the last turn is left.
        self.made = self.turns.map_or(first, |turns| first.min(turns.saturating_sub(1)));
    }

    /// Omits the next turn.
    pub(crate) fn skip(&mut self) {
        if self.turns_left() != Some(0) {
            self.made += 1;
        }
    }

    /// Whether a later turn contains the answer to this turn.
    pub(crate) fn needs_answers(&self) -> bool {
        self.texts.has_history() && self.turns_left() != Some(0)
    }

    /// Stores the answer to the last turn that was made.
    pub(crate) fn answered(&mut self, answer: Answer) {
        let Some(Asked { user, tokens }) = self.asked.take().filter(|_| self.texts.has_history()) else { return };
        let turn = PastTurn::new(user, answer.text.into(), tokens.saturating_add(answer.tokens));
        self.past_bytes += turn.bytes();
        self.past.push_back(turn);
    }

    fn past_tokens(&self) -> u32 {
        self.past.iter().fold(0, |sum, it| sum.saturating_add(it.tokens))
    }

    /// Drops the oldest turns until the context has room for `further` tokens. Returns whether it dropped any.
    fn shorten(&mut self, further: u32) -> bool {
        let most = self.texts.max_context().unwrap_or(u32::MAX);
        let mut tokens = self.past_tokens().saturating_add(further);
        let mut is_shortened = false;
        while tokens > most || self.past_bytes > MAX_HISTORY {
            let Some(oldest) = self.past.pop_front() else { break };
            tokens = tokens.saturating_sub(oldest.tokens);
            self.past_bytes -= oldest.bytes();
            is_shortened = true;
        }
        is_shortened
    }
}
