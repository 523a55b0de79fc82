//! The commit of this binary.

/// The commit, as build.rs found it.
pub(crate) const COMMIT: &str = env!("BENCHWRIGHT_COMMIT");
