//! Clients that go away before their answer is complete.

use crds::units::Span;
use serde::{Deserialize, Serialize};

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
