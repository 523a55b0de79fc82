//! Helpers that wait for other processes.

use std::{thread, time::Duration};

/// How long a test waits for an expected event.
pub const SOON: Duration = Duration::from_secs(60);

/// Waits until a condition is true, and fails the test after [`SOON`].
#[track_caller]
pub fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    const EVERY: Duration = Duration::from_millis(20);
    for _ in 0..SOON.as_millis() / EVERY.as_millis() {
        if is_true() {
            return;
        }
        thread::sleep(EVERY);
    }
    panic!("{what} did not come");
}
