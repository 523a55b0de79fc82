//! Tests whole searches: with vectors, with properties, and on queues with a known capacity.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

mod properties;
mod queue;
mod vectors;
