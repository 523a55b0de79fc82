//! All integration tests of this crate in one program, so that they are linked only once.

mod common;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod wrapper;
