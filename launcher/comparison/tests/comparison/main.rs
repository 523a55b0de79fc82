//! All integration tests of this crate in one program. The reports come from the full analysis of requests through a queue that is simulated here.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

mod decisions;
#[allow(dead_code, reason = "the tests of reports use the rest")]
#[path = "../../../report/tests/report/fixture.rs"]
mod fixture;
mod gates;
mod labels;
mod pages;
mod properties;
mod queue;
mod simulated;
