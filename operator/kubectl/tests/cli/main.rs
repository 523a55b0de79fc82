//! The plugin as a process, against a fake API server on a real socket.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod compare;
mod doctor;
mod ending;
mod following;
mod modelservice;
mod plugin;
mod refusals;
mod rerun;
mod results;
mod runs;
mod server;
mod silence;
mod transcript;
