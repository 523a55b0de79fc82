//! Tests the methods with values whose figures are known.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

mod basics;
mod blocks;
mod differences;
mod intervals;
#[allow(dead_code, reason = "the example uses the rest")]
mod processes;
mod steady_states;
