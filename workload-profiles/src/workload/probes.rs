//! Probes: tiny requests that are sent in addition to the load.

use crds::units::RequestRate;
use serde::{Deserialize, Serialize};

/// Tiny requests in addition to the load, evenly spaced and with separate figures. Their latency is what another user of the server would see.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Probes {
    /// Requests per second. Probes are sent while a stage runs.
    pub rate: RequestRate,
    /// Length of the prompt in words, which is about its number of tokens.
    pub input: u32,
    /// Requested length of the answer in tokens.
    pub output: u32,
}
