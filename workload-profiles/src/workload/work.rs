//! What a run does.

use serde::{Deserialize, Serialize};

/// What a run does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Work {
    /// It sends the requests of its stages.
    #[default]
    Load,
    /// It starts a server, sends it one request, and reads from its log how long each step of the start took.
    Startup,
}

impl Work {
    pub fn is_load(&self) -> bool {
        *self == Work::Load
    }
}
