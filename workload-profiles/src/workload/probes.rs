//! Tiny requests beside the load.

use crds::units::RequestRate;
use serde::{Deserialize, Serialize};

/// Tiny requests beside the load, evenly spaced, with figures of their own: the latency that another user of the server would
/// see.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Probes {
    /// Requests per second, while a stage runs.
    pub rate: RequestRate,
    /// Length of the prompt in words, which are about as many tokens.
    pub input: u32,
    /// Requested length of the answer in tokens.
    pub output: u32,
}
