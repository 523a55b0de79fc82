//! Synthetic conversations of several turns.

use crds::units::Seed;
use serde::{Deserialize, Serialize};

use super::{LengthDistribution, Prefixes, TimeDistribution};

/// Synthetic conversations. Each turn holds a new message of the user, and what was said before.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Conversations {
    /// The number of distinct conversations. Session i is conversation i modulo this number. Absent: every session is a new one.
    pub count: Option<u32>,
    /// Turns of a conversation: a number, not tokens.
    pub turns: LengthDistribution,
    /// Texts at the start of several conversations.
    #[serde(default, skip_serializing_if = "Prefixes::is_empty")]
    pub prefixes: Prefixes,
    /// The text of the system that a conversation has for itself, after its prefix; absent: none.
    pub own_system: Option<LengthDistribution>,
    /// The lengths of the first turn; absent: those of all turns.
    pub first_turn: Option<TurnLengths>,
    /// The lengths of a turn.
    pub turn: TurnLengths,
    /// The time between an answer and the next turn: a user who thinks, or a tool that runs. Absent: none.
    pub think_time: Option<TimeDistribution>,
    /// What a turn carries of the turns before it.
    pub history: History,
    /// The most tokens of prompt and answer together. The oldest turns are left out of longer ones. Absent: no limit.
    pub max_context: Option<u32>,
    /// Seed of the lengths and the texts, which are then the same in every run; absent: the run's.
    pub seed: Option<Seed>,
}

/// The lengths of a turn in tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnLengths {
    /// The new text of the user.
    pub input: LengthDistribution,
    /// The requested answer.
    pub output: LengthDistribution,
}

/// What a turn carries of the turns before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum History {
    /// The texts of the user, and the answers that the server gave in this run.
    #[default]
    Answers,
    /// Nothing: each turn stands alone.
    Nothing,
}
