//! [I/O] CPU time and receive delays of one worker, per stage. Must be called on the worker's thread.

use std::time::Duration;

use super::{receive, system};
use measurement::vitals::worker::StageVitals;

/// Measures a worker from the start of a stage to its end.
pub struct StageWatch {
    start: Duration,
    cpu: Duration,
    waited: Option<Duration>,
}

impl StageWatch {
    /// Starts the measurement. `start` is when the stage begins; it can be in the future.
    pub fn open(start: Duration) -> StageWatch {
        // Discards the reads before the stage.
        receive::take();
        StageWatch { start, cpu: clock::thread_cpu(), waited: system::thread_waited() }
    }

    pub fn close(self, now: Duration) -> StageVitals {
        StageVitals {
            cpu: clock::thread_cpu().saturating_sub(self.cpu),
            waited: system::thread_waited().zip(self.waited).map(|(now, before)| now.saturating_sub(before)),
            wall: now.saturating_sub(self.start),
            receive_delay: receive::take(),
        }
    }
}
