//! The tally of the sessions of a stage: counts and histograms by turn and by session. Its memory does not grow with the number of
//! sessions. Pure.

use std::time::Duration;

use crate::{
    histogram::{LengthHistogram, TimeHistogram},
    record::{RequestOutcome, RequestRecord},
};

/// Turns with figures of their own. Later turns have figures together.
pub const TURNS: usize = 16;

/// A session that has ended, or that is under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionEnd {
    /// Index of its stage in the workload.
    pub stage: usize,
    /// Its number in the stage, from 0.
    pub number: u64,
    /// When its first turn was due; `None` if it has sent none.
    pub began: Option<Duration>,
    /// When its last turn ended.
    pub ended: Option<Duration>,
    /// Turns that were sent.
    pub turns: u32,
    /// Turns that ended without an answer.
    pub failed_turns: u32,
    /// Turns whose prompts lack turns before them, because the context was full.
    pub shortened_turns: u32,
    /// Prompt lengths of its turns together, by the server's usage.
    pub input_tokens: u64,
    /// Output lengths of its turns together.
    pub output_tokens: u64,
}

impl SessionEnd {
    /// A session before its first turn.
    pub fn new(stage: usize, number: u64) -> SessionEnd {
        SessionEnd { stage, number, ..SessionEnd::default() }
    }

    /// A turn is sent that was due at `due`.
    pub fn begin_turn(&mut self, due: Duration, is_shortened: bool) {
        self.began.get_or_insert(due);
        self.turns += 1;
        self.shortened_turns += u32::from(is_shortened);
    }

    /// The turn that was sent has ended.
    pub fn end_turn(
        &mut self,
        outcome: RequestOutcome,
        ended: Duration,
        input_tokens: Option<u32>,
        output_tokens: u32,
    ) {
        self.ended = self.ended.max(Some(ended));
        self.failed_turns += u32::from(!outcome.is_complete());
        self.input_tokens += u64::from(input_tokens.unwrap_or_default());
        self.output_tokens += u64::from(output_tokens);
    }
}

/// The sessions of a stage.
#[derive(Clone, Debug, Default)]
pub struct SessionTally {
    /// Sessions that sent all their turns and got all answers.
    pub complete: u64,
    /// Sessions with a turn that got no answer.
    pub failed: u64,
    /// Sessions that the end of the stage cut short.
    pub cut_short: u64,
    /// From the time when the first turn was due to the end of the last, of complete sessions.
    pub duration: TimeHistogram,
    /// Turns of complete sessions.
    pub turns: LengthHistogram,
    /// Prompt lengths of all turns together, of complete sessions.
    pub input_tokens: LengthHistogram,
    /// Output lengths of all turns together, of complete sessions.
    pub output_tokens: LengthHistogram,
    /// Turns whose prompts lack turns before them, because the context was full.
    pub shortened_turns: u64,
    /// How long requests that the load wanted waited for the turn before them and for their think time; empty where the load starts
    /// sessions.
    pub hold: TimeHistogram,
    /// By turn: the first, the second and so on; the last entry has all later turns. Without turns that nobody sent.
    pub by_turn: Vec<TurnTally>,
}

/// The requests with one place in their sessions. Latencies are those of requests that succeeded.
#[derive(Clone, Debug, Default)]
pub struct TurnTally {
    /// Requests with any outcome.
    pub requests: u64,
    pub succeeded: u64,
    /// Time to the first token, from scheduled.
    pub ttft: TimeHistogram,
    /// Time to the last token, from scheduled.
    pub latency: TimeHistogram,
    /// Prompt lengths, by the server's usage.
    pub input_tokens: u64,
    /// Tokens of these prompts in the server's prefix cache.
    pub cached_tokens: u64,
    pub output_tokens: u64,
}

impl SessionTally {
    /// Sessions that sent a turn.
    pub fn sessions(&self) -> u64 {
        self.complete + self.failed + self.cut_short
    }

    /// Counts a turn.
    pub(super) fn record_turn(&mut self, request: &RequestRecord) {
        let Some(turn) = request.turn else { return };
        let place = usize::try_from(turn.number.get()).unwrap_or(usize::MAX).min(TURNS + 1) - 1;
        if self.by_turn.len() <= place {
            self.by_turn.resize_with(place + 1, TurnTally::default);
        }
        self.by_turn[place].record(request);
    }

    /// Counts a session. `has_all`: whether it has sent all its turns.
    pub(super) fn record_session(&mut self, session: &SessionEnd, has_all: bool) {
        let Some((began, ended)) = session.began.zip(session.ended) else { return };
        self.shortened_turns += u64::from(session.shortened_turns);
        if session.failed_turns > 0 {
            self.failed += 1;
        } else if has_all {
            self.complete += 1;
            self.duration.record(ended.saturating_sub(began));
            self.turns.record(session.turns);
            let tokens = |it: u64| u32::try_from(it).unwrap_or(u32::MAX);
            self.input_tokens.record(tokens(session.input_tokens));
            self.output_tokens.record(tokens(session.output_tokens));
        } else {
            self.cut_short += 1;
        }
    }

    /// Adds the tally of another worker for the same stage.
    pub fn add(&mut self, other: &SessionTally) {
        for (mine, theirs) in [
            (&mut self.complete, other.complete),
            (&mut self.failed, other.failed),
            (&mut self.cut_short, other.cut_short),
            (&mut self.shortened_turns, other.shortened_turns),
        ] {
            *mine += theirs;
        }
        self.duration.add(&other.duration);
        self.turns.add(&other.turns);
        self.input_tokens.add(&other.input_tokens);
        self.output_tokens.add(&other.output_tokens);
        self.hold.add(&other.hold);
        if self.by_turn.len() < other.by_turn.len() {
            self.by_turn.resize_with(other.by_turn.len(), TurnTally::default);
        }
        for (mine, theirs) in self.by_turn.iter_mut().zip(&other.by_turn) {
            mine.add(theirs);
        }
    }
}

impl TurnTally {
    fn record(&mut self, request: &RequestRecord) {
        self.requests += 1;
        if !request.outcome.is_success() {
            return;
        }
        self.succeeded += 1;
        request.ttft_scheduled().into_iter().for_each(|it| self.ttft.record(it));
        request.latency_scheduled().into_iter().for_each(|it| self.latency.record(it));
        self.output_tokens += u64::from(request.osl());
        if let Some(found) = request.input_tokens {
            self.input_tokens += u64::from(found);
            self.cached_tokens += u64::from(request.cached_tokens.unwrap_or(0).min(found));
        }
    }

    fn add(&mut self, other: &TurnTally) {
        for (mine, theirs) in [
            (&mut self.requests, other.requests),
            (&mut self.succeeded, other.succeeded),
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.cached_tokens, other.cached_tokens),
            (&mut self.output_tokens, other.output_tokens),
        ] {
            *mine += theirs;
        }
        self.ttft.add(&other.ttft);
        self.latency.add(&other.latency);
    }
}
