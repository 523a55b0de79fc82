//! Helpers for all sections of the format.

pub(super) use crate::formats::common::times::span;
use crate::problem::listed;

/// Maximum latency limit of goodput, in seconds.
pub(super) const MAX_CONSTRAINT_SECONDS: f64 = 86_400.0;

/// The message for a value that inference-perf supports and this engine does not.
pub(super) fn unsupported(what: &str, supported: &[&str]) -> String {
    format!(
        "is {what}, which inference-perf supports and this engine does not yet; choose one of {}",
        listed(supported)
    )
}
