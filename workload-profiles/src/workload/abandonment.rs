//! Abandonment: clients that disconnect before their answer is complete.

use crds::units::Span;
use serde::{Deserialize, Serialize};

/// Clients that disconnect before their answer is complete.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Abandonment {
    /// The share of requests whose client disconnects early, 0 to 1.
    pub share: f64,
    /// When the client disconnects. A request that has already ended is not affected.
    pub after: Departure,
}

/// How long a client waits before it disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Departure {
    /// A time after sending, drawn from a uniform distribution.
    Uniform {
        /// Minimum time.
        min: Span,
        /// Maximum time.
        max: Span,
    },
    /// A time after sending, drawn from an exponential distribution.
    Exponential {
        /// The mean of the distribution.
        mean: Span,
    },
    /// After this number of output tokens has arrived. If events have no token counts, each event with output counts as one token.
    Tokens(u32),
}
