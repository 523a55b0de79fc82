//! What all sections of the format need.

use std::time::Duration;

use crds::units::Span;

use crate::problem::listed;

/// The longest bound of goodput, in seconds.
pub(super) const MAX_CONSTRAINT_SECONDS: f64 = 86_400.0;

/// A length of time from seconds; `None` only for values that the getters refuse.
pub(super) fn span(seconds: f64) -> Option<Span> {
    Duration::try_from_secs_f64(seconds).ok().map(Span)
}

/// The message for a value that the original supports and this engine does not.
pub(super) fn unsupported(what: &str, supported: &[&str]) -> String {
    format!(
        "is {what}, which inference-perf supports and this engine does not yet; choose one of {}",
        listed(supported)
    )
}
