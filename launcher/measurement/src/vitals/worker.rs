//! CPU time and receive delays of one worker, by stage. Pure.

use std::time::Duration;

use crate::{
    histogram::TimeHistogram,
    wire::{fields, form},
};

#[derive(Clone, Debug, Default)]
pub struct WorkerVitals {
    /// One entry per stage.
    pub stages: Vec<StageVitals>,
    /// The worker's timer counted whole milliseconds, because the kernel had no finer timer.
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

/// The vitals of a worker in one stage, without the preceding pause.
#[derive(Clone, Debug, Default)]
pub struct StageVitals {
    /// User and system time.
    pub cpu: Duration,
    /// How long it was ready to run and waited for a CPU; `None` if the kernel does not report it.
    pub waited: Option<Duration>,
    pub wall: Duration,
    /// An upper bound on how long bytes waited before they were read; `None` if nothing is known.
    pub receive_delay: Option<TimeHistogram>,
}

fields!(WorkerVitals { stages, coarse_timer });
fields!(StageVitals { cpu, waited, wall, receive_delay });

form!(WorkerVitals = 3, "set of vitals of a worker");
