//! What all sections of the format need.

use std::time::Duration;

use crds::units::Span;

use crate::problem::listed;

/// The longest bound of goodput, in seconds.
pub(super) const MAX_CONSTRAINT_SECONDS: f64 = 86_400.0;

/// A length of time from seconds. `None` for what the getters of this file never let through.
pub(super) fn span(seconds: f64) -> Option<Span> {
    Duration::try_from_secs_f64(seconds).ok().map(Span)
}

/// The message for something that the original can do and this engine cannot yet.
pub(super) fn unsupported(what: &str, supported: &[&str]) -> String {
    format!("is {what}, which inference-perf has and this engine has not yet; choose one of {}", listed(supported))
}
