//! The tally of a stage's sessions: counts and histograms by turn and by session. Its memory does not grow with the number of sessions.
//! Pure.

use std::time::Duration;

use crate::{
    histogram::{LengthHistogram, TimeHistogram},
    record::{RequestOutcome, RequestRecord},
    wire::fields,
};

/// Number of turns with separate figures. All later turns share one entry.
pub const TURNS: usize = 16;

/// The results of a session that has ended or is in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionEnd {
    /// Index of the stage in the workload.
    pub stage: usize,
    /// Number of the session in the stage, from 0.
    pub number: u64,
    /// When the first turn was due; `None` if no turn was sent.
    pub began: Option<Duration>,
    /// When the last turn ended.
    pub ended: Option<Duration>,
    /// Number of turns sent.
    pub turns: u32,
    /// When a turn first failed; `None` if none did. A turn that was stopped has not failed.
    pub failed: Option<Duration>,
    /// Whether a turn was stopped by the end of the stage.
    pub is_cut: bool,
    /// Whether the session began with a later turn than its first.
    pub is_partial: bool,
    /// Number of turns whose prompts omit earlier turns, because the context was full.
    pub shortened_turns: u32,
    /// Number of turns whose prompt length the server reported.
    pub with_usage: u32,
    /// Total prompt length of these turns, in tokens.
    pub input_tokens: u64,
    /// Total output length of all turns, in tokens.
    pub output_tokens: u64,
}

impl SessionEnd {
    /// Creates the state of a session before its first turn.
    pub fn new(stage: usize, number: u64) -> SessionEnd {
        SessionEnd { stage, number, ..SessionEnd::default() }
    }

    /// Records that a turn due at `due` is sent. Turns can be sent in another order than they were due.
    pub fn begin_turn(&mut self, due: Duration, is_shortened: bool) {
        self.began = Some(self.began.map_or(due, |it| it.min(due)));
        self.turns += 1;
        self.shortened_turns += u32::from(is_shortened);
    }

    /// Records that a sent turn has ended.
    pub fn end_turn(
        &mut self,
        outcome: RequestOutcome,
        ended: Duration,
        input_tokens: Option<u32>,
        output_tokens: u32,
    ) {
        self.ended = self.ended.max(Some(ended));
        match outcome {
            RequestOutcome::Ok | RequestOutcome::Empty => {}
            RequestOutcome::Cancelled | RequestOutcome::Incomplete | RequestOutcome::Skipped => self.is_cut = true,
            RequestOutcome::HttpError(_)
            | RequestOutcome::BrokenStream
            | RequestOutcome::Timeout
            | RequestOutcome::ConnectError
            | RequestOutcome::Abandoned
            | RequestOutcome::ClientError => {
                self.failed = Some(self.failed.map_or(ended, |it| it.min(ended)));
            }
        }
        self.with_usage += u32::from(input_tokens.is_some());
        self.input_tokens += u64::from(input_tokens.unwrap_or_default());
        self.output_tokens += u64::from(output_tokens);
    }

    /// Records that the end of the stage stopped this number of turns at `now`.
    pub fn cut_turns(&mut self, turns: u32, now: Duration) {
        for _ in 0..turns {
            self.end_turn(RequestOutcome::Incomplete, now, None, 0);
        }
    }
}

/// Counts and histograms of a stage's sessions.
#[derive(Clone, Debug, Default)]
pub struct SessionTally {
    /// Number of sessions that sent a turn, including those that are excluded from the figures.
    pub begun: u64,
    /// Number of sessions that sent all their turns and got all answers.
    pub complete: u64,
    /// Number of sessions with a failed turn.
    pub failed: u64,
    /// Number of sessions cut short by the end of the stage or of its window.
    pub cut_short: u64,
    /// Number of sessions that began with a later turn than their first, sent all remaining turns, and got all answers.
    pub partial: u64,
    /// Durations of complete sessions, from when the first turn was due to the end of the last turn.
    pub duration: TimeHistogram,
    /// Number of turns per complete session.
    pub turns: LengthHistogram,
    /// Total prompt length per complete session, in tokens, if the server reported it for every turn.
    pub input_tokens: LengthHistogram,
    /// Total output length per complete session, in tokens.
    pub output_tokens: LengthHistogram,
    /// Number of turns whose prompts omit earlier turns, because the context was full.
    pub shortened_turns: u64,
    /// How long scheduled requests were held back for the previous turn and for think time; empty if the load starts whole sessions.
    pub hold: TimeHistogram,
    /// One entry per turn: the first, the second, and so on. The last entry contains all later turns. Turns that no session sent are
    /// omitted.
    pub by_turn: Vec<TurnTally>,
}

/// The requests at one position in their sessions. Latencies are of successful requests only.
#[derive(Clone, Debug, Default)]
pub struct TurnTally {
    /// Number of requests with any outcome.
    pub requests: u64,
    pub succeeded: u64,
    /// Time to first token, from the scheduled time.
    pub ttft: TimeHistogram,
    /// Time to the last token, from the scheduled time.
    pub latency: TimeHistogram,
    /// Number of successful requests whose prompt length the server reported.
    pub with_usage: u64,
    /// Total prompt length of these requests, in tokens.
    pub input_tokens: u64,
    /// How many of these tokens were found in the server's prefix cache.
    pub cached_tokens: u64,
    pub output_tokens: u64,
}

impl SessionTally {
    /// Returns the number of sessions in the figures.
    pub fn sessions(&self) -> u64 {
        self.complete + self.failed + self.cut_short + self.partial
    }

    /// Counts a turn. `has_answer` states whether its latencies and lengths are part of the figures.
    pub(super) fn record_turn(&mut self, request: &RequestRecord, has_answer: bool) {
        let Some(turn) = request.turn else { return };
        let place = usize::try_from(turn.number.get()).unwrap_or(usize::MAX).min(TURNS + 1) - 1;
        if self.by_turn.len() <= place {
            self.by_turn.resize_with(place + 1, TurnTally::default);
        }
        self.by_turn[place].record(request, has_answer);
    }

    /// Counts a session that has begun. `has_all` states whether it has sent all its turns. `close`: the end of a window that counts each event by
    /// its time; `None` for other windows.
    pub(super) fn record_session(&mut self, session: &SessionEnd, has_all: bool, close: Option<Duration>) {
        let Some((began, ended)) = session.began.zip(session.ended) else { return };
        let is_within = |at: Duration| close.is_none_or(|close| at <= close);
        self.shortened_turns += u64::from(session.shortened_turns);
        if session.failed.is_some_and(is_within) {
            self.failed += 1;
        } else if !has_all || session.is_cut || !is_within(ended) {
            self.cut_short += 1;
        } else if session.is_partial {
            self.partial += 1;
        } else {
            self.complete += 1;
            self.duration.record(ended.saturating_sub(began));
            self.turns.record(session.turns);
            let tokens = |it: u64| u32::try_from(it).unwrap_or(u32::MAX);
            if session.with_usage == session.turns {
                self.input_tokens.record(tokens(session.input_tokens));
            }
            self.output_tokens.record(tokens(session.output_tokens));
        }
    }

    /// Merges the tally of another worker for the same stage.
    pub fn add(&mut self, other: &SessionTally) {
        for (mine, theirs) in [
            (&mut self.begun, other.begun),
            (&mut self.complete, other.complete),
            (&mut self.failed, other.failed),
            (&mut self.cut_short, other.cut_short),
            (&mut self.partial, other.partial),
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
    fn record(&mut self, request: &RequestRecord, has_answer: bool) {
        self.requests += 1;
        if !has_answer {
            return;
        }
        self.succeeded += 1;
        request.ttft_scheduled().into_iter().for_each(|it| self.ttft.record(it));
        request.latency_scheduled().into_iter().for_each(|it| self.latency.record(it));
        self.output_tokens += u64::from(request.osl());
        if let Some(found) = request.input_tokens {
            self.with_usage += 1;
            self.input_tokens += u64::from(found);
            self.cached_tokens += u64::from(request.cached_tokens.unwrap_or(0).min(found));
        }
    }

    fn add(&mut self, other: &TurnTally) {
        for (mine, theirs) in [
            (&mut self.requests, other.requests),
            (&mut self.succeeded, other.succeeded),
            (&mut self.with_usage, other.with_usage),
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

fields!(SessionEnd {
    stage,
    number,
    began,
    ended,
    turns,
    failed,
    is_cut,
    is_partial,
    shortened_turns,
    with_usage,
    input_tokens,
    output_tokens,
});

fields!(SessionTally {
    begun,
    complete,
    failed,
    cut_short,
    partial,
    duration,
    turns,
    input_tokens,
    output_tokens,
    shortened_turns,
    hold,
    by_turn,
});

fields!(TurnTally { requests, succeeded, ttft, latency, with_usage, input_tokens, cached_tokens, output_tokens });
