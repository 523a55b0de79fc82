//! Tests of the load engine against the simulator and other servers in this process. Tests that check times use a paused clock: minutes of
//! load pass in milliseconds, and every expected figure is computed by hand.

#![expect(clippy::unwrap_used, reason = "a test may panic; clippy knows only the functions marked as tests")]

mod batches;
mod classes;
mod common;
mod connections;
mod data_set;
mod http2;
mod identity;
mod loadgen;
mod outages;
mod outputs;
mod questions;
mod scenarios;
mod session_limits;
mod sessions;
mod shapes;
mod stalls;
mod stop_rules;
mod stops;
mod sweeps;
mod threads;
mod time_series;
mod timeouts;
mod tls;
mod unix;
mod windows;
