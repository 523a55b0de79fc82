//! Tiny requests beside the load.

use crds::units::RequestRate;
use serde::{Deserialize, Serialize};

/// Tiny requests beside the load, evenly spaced, with separate figures: the latency for another user of the server.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Probes {
    /// Requests per second, while a stage runs.
    pub rate: RequestRate,
    /// Length of the prompt in words, about equal to its tokens.
    pub input: u32,
    /// Requested length of the answer in tokens.
    pub output: u32,
}
