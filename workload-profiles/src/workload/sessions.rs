//! Sessions: requests that belong together, such as the turns of a conversation.

use serde::{Deserialize, Serialize};

/// How the requests of a session are sent. A request always waits until the requests before it have ended, and for its think time. In a
/// workload without several turns, each session has one request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Sessions {
    /// What the load starts at each of its times, and in each of its slots.
    pub unit: Unit,
    /// The header field with the session's id; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Whether all requests of a session use the same connection.
    pub keep_connection: bool,
    /// What happens after a failed request.
    pub after_failure: AfterFailure,
}

impl Sessions {
    /// Whether all is as in a workload without sessions.
    pub fn is_default(&self) -> bool {
        *self == Sessions::default()
    }
}

/// What a load starts, and what its counts and rates count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Unit {
    /// One request. Request i belongs to session i modulo the number of sessions, and is its next turn. After its last turn a session restarts.
    #[default]
    Request,
    /// A whole session of requests that follow each other. A slot of a closed loop is free again when the session has ended.
    Session,
}

/// What happens after a failed request in a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AfterFailure {
    /// The session continues, without the failed turn in its history.
    #[default]
    Continue,
    /// The session ends. Its other requests are not sent, and count as skipped. Where it has no last turn, the next request begins a
    /// new session.
    End,
}
