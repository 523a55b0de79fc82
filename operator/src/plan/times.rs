//! How long a decision waits or has waited.

use std::time::Duration;

use jiff::Timestamp;

/// The next look while the run waits for something that no watch reports.
pub(super) const SOON: Duration = Duration::from_secs(2);
/// The next look while an attempt starts or runs, because a deadline may pass.
pub(super) const OFTEN: Duration = Duration::from_secs(10);
/// How long the operator waits after the launcher's deadline and grace period before it ends an attempt.
pub(super) const LEEWAY_SECONDS: u32 = 60;

/// Whole seconds since a time; 0 if the clock was set back.
pub(super) fn seconds_since(then: Timestamp, now: Timestamp) -> u32 {
    u32::try_from(now.duration_since(then).as_secs()).unwrap_or(0)
}
