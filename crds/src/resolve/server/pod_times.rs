//! The times at which the pods of a server were created and started.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The times at which the pods of a server were created and started. With several pods, each time is that of the last pod.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodTimes {
    /// When the API server created the pod.
    pub created: Option<Timestamp>,
    /// When the pod was assigned to a node.
    pub scheduled: Option<Timestamp>,
    /// When the container started, in whole seconds of the node's clock. At that time its image was present on the node.
    pub container: Option<Timestamp>,
}
