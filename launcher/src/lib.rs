//! The launcher: reads a resolved run and a rendered profile, issues the load on the server under test, and writes the report.
//!
//! This crate connects the other crates: `input` reads what to run, and `run` does everything from preparing the target to writing the report.
//! `remote_files` downloads files from URLs, `bucket` uploads results, `scoring` scores answers, and `sut` answers MLCommons' LoadGen. The launcher
//! does not use the Kubernetes API, so it works the same way in a pod and on a laptop.

mod bucket;
pub mod console;
pub mod input;
pub mod log_line;
pub mod other_windows;
pub mod remote_files;
pub mod run;
pub mod scoring;
mod status_server;
pub mod sut;
pub mod sweep;
#[cfg(test)]
mod test_server;
mod web_client;
