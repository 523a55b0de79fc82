//! The search as a whole: against vectors, properties, and queues with a known capacity.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

mod properties;
mod queue;
mod vectors;
