//! The launcher: a resolved run and a rendered profile in, load on the server under test, a report out.
//!
//! This crate wires the others together: `input` reads what to run, `run` goes from the target to the report, `sut` answers
//! MLCommons' LoadGen. The launcher knows no Kubernetes: it is the same in a pod and on a laptop.

pub mod console;
pub mod input;
pub mod run;
pub mod status_server;
pub mod sut;
