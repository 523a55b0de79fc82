//! [I/O] CPU time and receive delays of one worker, by stage. Call it on the thread of the worker.

use std::time::Duration;

use super::{receive, system};
use crate::histogram::TimeHistogram;

#[derive(Clone, Debug, Default)]
pub struct WorkerVitals {
    /// One entry for each stage.
    pub stages: Vec<StageVitals>,
    /// Its timer counted whole milliseconds, because the kernel had no finer timer to give.
    pub coarse_timer: bool,
}

impl WorkerVitals {
    /// All stages together, without receive delays.
    pub fn whole(&self) -> StageVitals {
        let stages = || self.stages.iter();
        StageVitals {
            cpu: stages().map(|it| it.cpu).sum(),
            waited: stages().map(|it| it.waited).sum(),
            wall: stages().map(|it| it.wall).sum(),
            receive_delay: None,
        }
    }
}

/// The vitals of a worker in one stage, without the pause before it.
#[derive(Clone, Debug, Default)]
pub struct StageVitals {
    /// User and system time.
    pub cpu: Duration,
    /// How long it was ready to run and waited for a CPU; `None` if the kernel does not tell.
    pub waited: Option<Duration>,
    pub wall: Duration,
    /// An upper bound on how long bytes waited before they were read; `None` if nothing is known.
    pub receive_delay: Option<TimeHistogram>,
}

/// Measures a worker from the start of a stage to its end.
pub struct StageWatch {
    start: Duration,
    cpu: Duration,
    waited: Option<Duration>,
}

impl StageWatch {
    /// `start` is when the stage begins, now or later.
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
