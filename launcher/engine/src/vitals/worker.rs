//! [I/O] CPU time and receive delays of one worker, by stage. Call it on the thread of the worker.

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
    /// Starts the measurement. `start`: when the stage begins, now or later.
    pub fn open(start: Duration) -> StageWatch {
        // Reads before the stage belong to no stage.
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
