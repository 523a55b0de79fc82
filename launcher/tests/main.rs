//! The integration tests of this crate, in one program so that they are linked only once.

mod arrows;
#[cfg(target_os = "linux")]
mod capacity;
mod circles;
mod cli;
mod common;
mod docs;
mod faults;
mod map;
mod messages;
mod outcomes;
mod pod;
