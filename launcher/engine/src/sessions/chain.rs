//! A session whose turns follow one another: its history so far, and its next prompt. Pure.

use std::{collections::VecDeque, num::NonZeroU32, sync::Arc, time::Duration};

use super::{
    chain_texts::ChainTexts,
    prompt::PromptStyle,
    turn::{NewTurn, PastTurn},
};
use crate::requests::{RequestedLengths, Texts};

/// Maximum size of the history that a session keeps, in bytes. It exceeds the longest context of any model.
pub(crate) const MAX_HISTORY: usize = 8 << 20;

/// A session in flight.
#[derive(Debug)]
pub(crate) struct Chain {
    texts: ChainTexts,
    stage: usize,
    /// Index of the session among the distinct sessions, which determines its texts.
    content: u64,
    /// Number of turns; `None` means that the session has no end.
    turns: Option<u32>,
    /// Number of turns generated so far.
    made: u32,
    has_begun: bool,
    /// The last generated turn, until its answer arrives.
    asked: Option<Asked>,
    past: VecDeque<PastTurn>,
    past_bytes: usize,
}

/// A turn whose answer has not arrived.
#[derive(Clone, Debug)]
struct Asked {
    user: Arc<str>,
    tokens: u32,
}

/// The server's answer to a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) text: String,
    /// Length of the text, in tokens.
    pub(crate) tokens: u32,
}

/// A turn that is ready to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NextTurn {
    /// Number of the turn in the session, from 1.
    pub(crate) number: NonZeroU32,
    /// The requested lengths of the whole prompt and of the answer.
    pub(crate) requested: RequestedLengths,
    /// The time from the end of the previous turn to this turn.
    pub(crate) think_time: Duration,
    /// Whether earlier turns were omitted from the prompt because the context is full.
    pub(crate) is_shortened: bool,
}

impl Chain {
    pub(super) fn new(texts: ChainTexts, stage: usize, content: u64) -> Chain {
        let turns = texts.turns(content);
        let (past, past_bytes) = (VecDeque::new(), 0);
        Chain { texts, stage, content, turns, made: 0, has_begun: false, asked: None, past, past_bytes }
    }

    /// Returns the number of turns not generated yet; `None` if the session has no end.
    pub(crate) fn turns_left(&self) -> Option<u32> {
        self.turns.map(|it| it.saturating_sub(self.made))
    }

    /// Generates the next turn, and appends its prompt to `text`. Returns `None` after the last turn. If the previous turn has no answer,
    /// it is omitted from the history.
    pub(crate) fn next(&mut self, words: &Texts, style: PromptStyle, text: &mut String) -> Option<NextTurn> {
        if self.turns_left() == Some(0) {
            return None;
        }
        let NewTurn { user, input, output, think_time } = self.texts.turn(words, self.stage, self.content, self.made);
        let own = input.unwrap_or_default();
        // The opening is generated again for each turn. Otherwise each session would store a copy of texts that all sessions share.
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

    /// Restricts the session to the turns `first..end`.
    pub(crate) fn limit(&mut self, first: u32, end: Option<u32>) {
        self.turns = match (self.turns, end) {
            (Some(turns), Some(end)) => Some(turns.min(end)),
            (turns, end) => turns.or(end),
        };
        // At least the last turn remains.
        self.made = self.turns.map_or(first, |turns| first.min(turns.saturating_sub(1)));
    }

    /// Skips the next turn.
    pub(crate) fn skip(&mut self) {
        if self.turns_left() != Some(0) {
            self.made += 1;
        }
    }

    /// Whether later turns will contain the answer to the current turn.
    pub(crate) fn needs_answers(&self) -> bool {
        self.texts.has_history() && self.turns_left() != Some(0)
    }

    /// Adds the answer to the last generated turn to the history.
    pub(crate) fn answered(&mut self, answer: Answer) {
        let Some(Asked { user, tokens }) = self.asked.take().filter(|_| self.texts.has_history()) else { return };
        let turn = PastTurn::new(user, answer.text.into(), tokens.saturating_add(answer.tokens));
        self.past_bytes += turn.bytes();
        self.past.push_back(turn);
    }

    fn past_tokens(&self) -> u32 {
        self.past.iter().fold(0, |sum, it| sum.saturating_add(it.tokens))
    }

    /// Drops the oldest turns until the context has room for `further` more tokens. Returns whether any were dropped.
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
