//! Helpers for the times in a plan: when the next reconciliation is due, and how much time has passed.

use std::time::Duration;

use jiff::Timestamp;

/// Time to the next reconciliation while the run waits for a change that no watch reports.
pub(super) const SOON: Duration = Duration::from_secs(2);
/// Time to the next reconciliation while an attempt starts or runs. A passed deadline is noticed at most this much later.
pub(super) const OFTEN: Duration = Duration::from_secs(10);
/// Additional time before the operator ends an attempt, after the launcher's deadline and grace period, in seconds.
pub(super) const LEEWAY_SECONDS: u32 = 60;

/// Whole seconds between two times. 0 if the clock was set back.
pub(super) fn seconds_since(then: Timestamp, now: Timestamp) -> u32 {
    u32::try_from(now.duration_since(then).as_secs()).unwrap_or(0)
}
