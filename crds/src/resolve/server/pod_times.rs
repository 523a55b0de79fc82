//! When the pods of a server were created and started.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// When the pods of a server were created and started; of several pods, the last one.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodTimes {
    /// When the API server created it.
    pub created: Option<Timestamp>,
    /// When it had a node.
    pub scheduled: Option<Timestamp>,
    /// When its container started, by the clock of its node. At that time its image was present. In whole seconds.
    pub container: Option<Timestamp>,
}
