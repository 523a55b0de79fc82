//! The built binary, run like in a pod: with the input that the operator mounts, against servers of the tests.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod baseline;
mod collect;
mod debug;
mod downloads;
mod earlier_attempt;
mod egress;
mod fixture;
mod leaks;
mod retention;
mod s3;
mod secrets;
mod server_in_pods;
mod shared_target;
mod storage;
mod user;
