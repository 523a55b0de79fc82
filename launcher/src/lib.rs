//! The launcher: a resolved run and a rendered profile in, load on the server under test, a report out.
//!
//! schedule (pure) -> issue (waits and sends) -> client (streams and stamps) -> recorder (counts and histograms) ->
//! analysis (pure) -> report (a file a format). The launcher knows no Kubernetes: it is the same in a pod and on a laptop.

#![warn(clippy::print_stdout, clippy::print_stderr, reason = "they panic where nobody reads; console.rs prints")]

pub mod analysis;
#[cfg(target_os = "linux")]
pub mod bench;
pub mod client;
pub mod clock;
pub mod console;
pub mod data_set;
pub mod gaps;
pub mod histogram;
pub mod input;
pub mod issue;
mod lines;
pub mod loadgen;
mod overlooked;
pub mod record;
pub mod recorder;
pub mod report;
pub mod requests;
pub mod run;
pub mod schedule;
pub mod sim;
pub mod status_server;
pub mod stop;
pub mod submission;
pub mod sut;
pub mod trace_file;
pub mod user_file;
pub mod vitals;
pub mod window;
