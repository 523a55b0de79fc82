//! The commit that this binary was built from.

/// The commit, as build.rs found it.
pub(crate) const COMMIT: &str = env!("BENCHWRIGHT_COMMIT");
