//! Figures of sessions in `report.json`.

use analysis::{SessionFigures, TurnFigures};
use serde::{Deserialize, Serialize};

use super::values::{Statistics, lengths, times};

/// The sessions of a run or a stage.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionsDocument {
    pub sessions: u64,
    pub complete: u64,
    pub failed: u64,
    pub cut_short: u64,
    #[serde(default)]
    pub partial: u64,
    pub complete_per_second: Option<f64>,
    pub duration_ms: Option<Statistics>,
    pub turns: Option<Statistics>,
    pub input_tokens: Option<Statistics>,
    pub output_tokens: Option<Statistics>,
    pub shortened_turns: u64,
    pub hold_ms: Option<Statistics>,
    pub by_turn: Vec<TurnDocument>,
}

/// The requests at one turn of their session, over all sessions.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnDocument {
    /// The number of the turn, from 1.
    pub turn: u64,
    /// Whether the entry includes all later turns.
    pub and_later: bool,
    pub requests: u64,
    pub succeeded: u64,
    pub ttft_scheduled_ms: Option<Statistics>,
    pub latency_scheduled_ms: Option<Statistics>,
    pub mean_input_tokens: Option<f64>,
    pub mean_output_tokens: Option<f64>,
    pub cached_share: Option<f64>,
}

impl SessionsDocument {
    pub(super) fn new(figures: &SessionFigures) -> SessionsDocument {
        SessionsDocument {
            sessions: figures.sessions,
            complete: figures.complete,
            failed: figures.failed,
            cut_short: figures.cut_short,
            partial: figures.partial,
            complete_per_second: figures.per_second,
            duration_ms: times(&figures.duration),
            turns: lengths(&figures.turns),
            input_tokens: lengths(&figures.input_tokens),
            output_tokens: lengths(&figures.output_tokens),
            shortened_turns: figures.shortened_turns,
            hold_ms: times(&figures.hold),
            by_turn: figures.by_turn.iter().map(TurnDocument::new).collect(),
        }
    }
}

impl TurnDocument {
    fn new(figures: &TurnFigures) -> TurnDocument {
        TurnDocument {
            turn: figures.turn as u64,
            and_later: figures.and_later,
            requests: figures.requests,
            succeeded: figures.succeeded,
            ttft_scheduled_ms: times(&figures.ttft),
            latency_scheduled_ms: times(&figures.latency),
            mean_input_tokens: figures.mean_input_tokens,
            mean_output_tokens: figures.mean_output_tokens,
            cached_share: figures.cached_share,
        }
    }
}
