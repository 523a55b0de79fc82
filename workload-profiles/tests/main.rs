//! The integration tests of this crate, in one program so that they are linked only once.

#[cfg(target_os = "linux")]
mod bombs;
mod common;
mod peer_profiles;
