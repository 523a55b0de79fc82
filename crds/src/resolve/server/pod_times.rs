//! When the pods of a server came to be.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// When the pods of a server came to be; of several the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodTimes {
    /// When the API server created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// When it had a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<Timestamp>,
    /// When its container started, by the clock of its node: its image was there. In whole seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Timestamp>,
}
