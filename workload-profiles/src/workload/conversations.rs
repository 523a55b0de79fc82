//! Synthetic conversations of several turns.

use crds::units::Seed;
use serde::{Deserialize, Serialize};

use super::{LengthDistribution, Prefixes, TimeDistribution};

/// Synthetic conversations. Each turn sends a new user message together with the earlier turns.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Conversations {
    /// Number of distinct conversations. Session i sends conversation i modulo this number. If absent, every session is new.
    pub count: Option<u32>,
    /// Number of turns per conversation.
    pub turns: LengthDistribution,
    /// Texts at the start of several conversations.
    #[serde(default, skip_serializing_if = "Prefixes::is_empty")]
    pub prefixes: Prefixes,
    /// The length of a system text that only one conversation has. It follows the prefix. If absent, there is no such text.
    pub own_system: Option<LengthDistribution>,
    /// The lengths of the first turn. If absent, they are the same as for the other turns.
    pub first_turn: Option<TurnLengths>,
    /// The lengths of each turn.
    pub turn: TurnLengths,
    /// The time between an answer and the next turn: a user who thinks, or a tool that runs. If absent, there is no wait.
    pub think_time: Option<TimeDistribution>,
    /// Which parts of earlier turns a turn contains.
    pub history: History,
    /// Maximum tokens of prompt and answer together. Longer conversations omit their oldest turns. If absent, there is no limit.
    pub max_context: Option<u32>,
    /// Seed for lengths and texts, which are then the same in every run. If absent, the run's seed is used.
    pub seed: Option<Seed>,
}

/// The lengths of one turn, in tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnLengths {
    /// The length of the user's new text.
    pub input: LengthDistribution,
    /// The requested length of the answer.
    pub output: LengthDistribution,
}

/// Which parts of earlier turns a turn contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum History {
    /// The user's texts, and the server's answers in this run.
    #[default]
    Answers,
    /// Nothing: each turn is independent.
    Nothing,
}
