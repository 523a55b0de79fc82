//! Clients that go away before their answer is complete.

use crds::units::Span;
use serde::{Deserialize, Serialize};

/// Clients that go away before their answer is complete.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Abandonment {
    /// The share of requests with a client that disconnects early: 0 to 1.
    pub share: f64,
    /// When the client disconnects. A request that ended before is not affected.
    pub after: Departure,
}

/// How long a client waits before it disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Departure {
    /// A time after sending, drawn from a uniform distribution.
    Uniform {
        /// The shortest.
        min: Span,
        /// The longest.
        max: Span,
    },
    /// A time after sending, drawn from an exponential distribution.
    Exponential {
        /// The mean of the distribution.
        mean: Span,
    },
    /// Until this number of output tokens has arrived. Without usage in the events, each event with output counts as one token.
    Tokens(u32),
}
