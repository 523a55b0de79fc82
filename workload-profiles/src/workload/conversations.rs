//! Synthetic conversations of several turns.

use crds::units::Seed;
use serde::{Deserialize, Serialize};

use super::{LengthDistribution, Prefixes, TimeDistribution};

/// Synthetic conversations. Each turn contains a new user message, and the earlier turns.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Conversations {
    /// The number of distinct conversations. Session i is conversation i modulo this number. Absent: every session is new.
    pub count: Option<u32>,
    /// Turns of a conversation: a number, not tokens.
    pub turns: LengthDistribution,
    /// Texts at the start of several conversations.
    #[serde(default, skip_serializing_if = "Prefixes::is_empty")]
    pub prefixes: Prefixes,
    /// A conversation's own system text, after its prefix; absent: none.
    pub own_system: Option<LengthDistribution>,
    /// The lengths of the first turn; absent: the same as for all turns.
    pub first_turn: Option<TurnLengths>,
    /// The lengths of a turn.
    pub turn: TurnLengths,
    /// The time between an answer and the next turn: a user who thinks, or a tool that runs. Absent: no wait.
    pub think_time: Option<TimeDistribution>,
    /// Which parts of earlier turns a turn contains.
    pub history: History,
    /// Maximum tokens of prompt and answer together. Longer conversations drop their oldest turns. Absent: no limit.
    pub max_context: Option<u32>,
    /// Seed for lengths and texts, which are then the same in every run; absent: the run's seed.
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

/// Which parts of earlier turns a turn contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum History {
    /// The user's texts, and the server's answers from this run.
    #[default]
    Answers,
    /// None: each turn is independent.
    Nothing,
}
