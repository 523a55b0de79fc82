//! What of the load is measured, and what goes on beside it: windows, clients that go away, probes.

use crds::units::{RequestRate, Span};
use serde::{Deserialize, Serialize};

/// Which requests of a stage are in its figures, beside its warm-up and cool-down, which never are. The window of a stage
/// begins after its warm-up and ends before its cool-down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Window {
    /// Every request that was due within the window, whenever it ended.
    #[default]
    All,
    /// Requests that were due and ended within the window.
    Trimmed,
    /// Everything that happened within the window, whichever request it belongs to; a request that had not ended by then
    /// counts as incomplete.
    Cut,
}

/// Clients that go away before their answer is complete.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Abandonment {
    /// The share of the requests whose client would go away: 0 to 1.
    pub share: f64,
    /// When it goes; a request that has ended by then is as any other.
    pub after: Departure,
}

/// How long a client waits before it goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Departure {
    /// A time from sending on, drawn evenly from a range.
    Uniform {
        /// The shortest.
        min: Span,
        /// The longest.
        max: Span,
    },
    /// A time from sending on, drawn from an exponential distribution.
    Exponential {
        /// Its mean.
        mean: Span,
    },
    /// Until so many events with output have come.
    Tokens(u32),
}

/// Tiny requests beside the load, evenly spaced, in figures of their own: how the server feels to somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Probes {
    /// Requests per second, while a stage runs.
    pub rate: RequestRate,
    /// Length of the prompt in words, which are about as many tokens.
    pub input: u32,
    /// Asked length of the answer in tokens.
    pub output: u32,
}
