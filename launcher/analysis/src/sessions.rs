//! The figures of sessions, per session and per turn.

use std::time::Duration;

use super::distribution::Distribution;
use measurement::recorder::{SessionTally, TURNS, TurnTally};

/// The sessions of a stage or a run. Durations, turns and tokens include only complete sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionFigures {
    /// Number of sessions that sent a request.
    pub sessions: u64,
    /// Number of sessions that sent all their requests and got all answers.
    pub complete: u64,
    /// Number of sessions with a request that got no answer.
    pub failed: u64,
    /// Number of sessions that the end of a stage or its window cut short.
    pub cut_short: u64,
    /// Number of sessions that began after their first turn, and got all answers of their remaining turns.
    pub partial: u64,
    /// Complete sessions per second of the stage or run; `None` if its duration is zero.
    pub per_second: Option<f64>,
    /// From the due time of a session's first request to the end of its last request.
    pub duration: Option<Distribution<Duration>>,
    /// Number of requests per session.
    pub turns: Option<Distribution<f64>>,
    /// Prompt tokens per session, for sessions in which the server reported all prompt lengths.
    pub input_tokens: Option<Distribution<f64>>,
    /// Output tokens per session.
    pub output_tokens: Option<Distribution<f64>>,
    /// Number of requests with a prompt that omits earlier turns, because the context was full.
    pub shortened_turns: u64,
    /// How long requests were held back after their scheduled time, to wait for the answer to the previous turn and for the think time. No latency
    /// includes this wait. `None` for a load that schedules sessions instead of requests.
    pub hold: Option<Distribution<Duration>>,
    /// The figures of each turn, in order.
    pub by_turn: Vec<TurnFigures>,
}

/// The requests at one turn of their session, over all sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnFigures {
    /// The number of the turn, counted from 1. If `and_later` is true, the entry covers this turn and all later ones.
    pub turn: usize,
    /// Whether the entry includes all later turns.
    pub and_later: bool,
    /// Number of requests with any outcome.
    pub requests: u64,
    pub succeeded: u64,
    /// First token minus scheduled; `None` without streaming.
    pub ttft: Option<Distribution<Duration>>,
    /// Last token minus scheduled.
    pub latency: Option<Distribution<Duration>>,
    /// Mean prompt length of requests with usage; `None` if no usage was reported.
    pub mean_input_tokens: Option<f64>,
    /// Mean output length.
    pub mean_output_tokens: Option<f64>,
    /// Share of prompt tokens that were in the server's prefix cache; `None` if unknown.
    pub cached_share: Option<f64>,
}

impl SessionFigures {
    /// Computes the figures from counts. `duration` is the duration of the stage or run.
    pub(super) fn new(tally: &SessionTally, duration: Duration, streaming: bool) -> SessionFigures {
        // If a server never reports cached tokens, the state of its cache is unknown. A server that does report them omits counts of zero.
        let reports_cached = tally.by_turn.iter().any(|it| it.cached_tokens > 0);
        let of_turn = |(it, turn)| {
            let figures = TurnFigures::new(turn, it, streaming);
            TurnFigures { cached_share: figures.cached_share.filter(|_| reports_cached), ..figures }
        };
        let by_turn = tally.by_turn.iter().zip(1..).map(of_turn);
        SessionFigures {
            sessions: tally.sessions(),
            complete: tally.complete,
            failed: tally.failed,
            cut_short: tally.cut_short,
            partial: tally.partial,
            per_second: (!duration.is_zero()).then(|| tally.complete as f64 / duration.as_secs_f64()),
            duration: Distribution::of_times(&tally.duration),
            turns: Distribution::of_lengths(&tally.turns),
            input_tokens: Distribution::of_lengths(&tally.input_tokens),
            output_tokens: Distribution::of_lengths(&tally.output_tokens),
            shortened_turns: tally.shortened_turns,
            hold: Distribution::of_times(&tally.hold),
            by_turn: by_turn.collect(),
        }
    }

    /// The sessions of all stages.
    pub(super) fn of_run(tallies: &[SessionTally], duration: Duration, streaming: bool) -> Option<SessionFigures> {
        let mut sum = SessionTally::default();
        tallies.iter().for_each(|it| sum.add(it));
        (!tallies.is_empty()).then(|| SessionFigures::new(&sum, duration, streaming))
    }
}

impl TurnFigures {
    fn new(turn: usize, tally: &TurnTally, streaming: bool) -> TurnFigures {
        let mean = |sum: u64, count: u64| (count > 0).then(|| sum as f64 / count as f64);
        TurnFigures {
            turn,
            and_later: turn > TURNS,
            requests: tally.requests,
            succeeded: tally.succeeded,
            ttft: Distribution::of_times(&tally.ttft).filter(|_| streaming),
            latency: Distribution::of_times(&tally.latency),
            mean_input_tokens: mean(tally.input_tokens, tally.with_usage),
            mean_output_tokens: mean(tally.output_tokens, tally.succeeded),
            cached_share: (tally.input_tokens > 0).then(|| tally.cached_tokens as f64 / tally.input_tokens as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_cached_tokens_is_absent_where_no_answer_reports_any() {
        let turn = |cached_tokens| TurnTally {
            succeeded: 2,
            with_usage: 2,
            input_tokens: 100,
            cached_tokens,
            ..TurnTally::default()
        };
        for (cached, expected) in [([0, 0], [None, None]), ([0, 25], [Some(0.0), Some(0.25)])] {
            let tally = SessionTally { by_turn: cached.map(turn).into(), ..SessionTally::default() };
            let figures = SessionFigures::new(&tally, Duration::ZERO, true);
            let shares: Vec<_> = figures.by_turn.iter().map(|it| it.cached_share).collect();
            assert_eq!(shares, expected);
        }
    }

    #[test]
    fn a_mean_prompt_is_of_the_requests_with_usage() {
        for (with_usage, input_tokens, expected) in [(0, 0, None), (1, 100, Some(100.0)), (4, 100, Some(25.0))] {
            let tally = TurnTally { requests: 5, succeeded: 4, with_usage, input_tokens, ..TurnTally::default() };
            assert_eq!(TurnFigures::new(1, &tally, true).mean_input_tokens, expected);
        }
    }
}
