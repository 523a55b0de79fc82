//! Sessions: requests that belong together, such as the turns of a conversation.

use serde::{Deserialize, Serialize};

/// How the requests of a session are sent. A request always waits until the requests before it have ended, and then for the think time. In a workload
/// without conversations, each session has one request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Sessions {
    /// What the load starts at each send time, or in each slot.
    pub unit: Unit,
    /// The header field that contains the session's id. If absent, no such header field is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// Whether all requests of a session use the same connection.
    pub keep_connection: bool,
    /// What happens after a request of a session fails.
    pub after_failure: AfterFailure,
}

impl Sessions {
    /// Whether all settings have their default values.
    pub fn is_default(&self) -> bool {
        *self == Sessions::default()
    }
}

/// What a load starts. Counts and rates refer to the same unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Unit {
    /// One request. Request i is the next turn of session i modulo the number of sessions. After its last turn a session restarts.
    #[default]
    Request,
    /// A whole session, whose requests follow each other. In a closed loop, a slot is free again when its session has ended.
    Session,
}

/// What happens after a request of a session fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AfterFailure {
    /// The session continues. The failed turn is not in its history.
    #[default]
    Continue,
    /// The session ends. Its remaining requests are not sent, and count as skipped. For sessions without a last turn, the next request begins a new
    /// session.
    End,
}
