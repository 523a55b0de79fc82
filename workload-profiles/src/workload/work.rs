//! What a run does.

use serde::{Deserialize, Serialize};

/// What a run does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Work {
    /// Sends the requests of its stages.
    #[default]
    Load,
    /// Starts a server, sends it one request, and reads from the server's log how long each step of the start took.
    Startup,
}

impl Work {
    pub fn is_load(&self) -> bool {
        *self == Work::Load
    }
}
