//! [I/O] What one load thread was given and took, stage by stage. To be called on that thread.

use std::time::Duration;

use super::{receive, system};
use crate::histogram::TimeHistogram;

/// What a load thread took of its CPU, and how late it read.
#[derive(Clone, Debug, Default)]
pub struct WorkerVitals {
    /// A part for each stage.
    pub stages: Vec<StageVitals>,
    /// Its timer knew whole milliseconds only, because the kernel had no finer one to give.
    pub coarse_timer: bool,
}

impl WorkerVitals {
    /// All stages together, without their receive delays.
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

/// The same for one stage, without the pause before it.
#[derive(Clone, Debug, Default)]
pub struct StageVitals {
    /// CPU time, user and system.
    pub cpu: Duration,
    /// How long it could have run and had no CPU; `None` where the kernel does not tell.
    pub waited: Option<Duration>,
    /// How long the stage took.
    pub wall: Duration,
    /// An upper bound on how long bytes lay before they were read; `None` where nothing is known.
    pub receive_delay: Option<TimeHistogram>,
}

/// From the start of a stage to its end.
pub struct StageWatch {
    start: Duration,
    cpu: Duration,
    waited: Option<Duration>,
}

impl StageWatch {
    /// A stage begins at `start`, from now on or later.
    pub fn open(start: Duration) -> StageWatch {
        // What was read before belongs to no stage.
        receive::take();
        StageWatch { start, cpu: clock::thread_cpu(), waited: system::thread_waited() }
    }

    /// It has ended now.
    pub fn close(self, now: Duration) -> StageVitals {
        StageVitals {
            cpu: clock::thread_cpu().saturating_sub(self.cpu),
            waited: system::thread_waited().zip(self.waited).map(|(now, before)| now.saturating_sub(before)),
            wall: now.saturating_sub(self.start),
            receive_delay: receive::take(),
        }
    }
}
