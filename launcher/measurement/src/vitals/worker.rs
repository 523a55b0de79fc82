//! CPU time and receive delays of one worker, per stage. Pure.

use std::time::Duration;

use crate::{
    histogram::TimeHistogram,
    wire::{fields, form},
};

#[derive(Clone, Debug, Default)]
pub struct WorkerVitals {
    /// One entry per stage.
    pub stages: Vec<StageVitals>,
    /// Whether the worker's timer had a resolution of whole milliseconds, because the kernel had no finer one.
    pub coarse_timer: bool,
}

impl WorkerVitals {
    /// Returns the sum over all stages, without receive delays.
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

/// The vitals of a worker in one stage, not including the pause before it.
#[derive(Clone, Debug, Default)]
pub struct StageVitals {
    /// CPU time of the worker, user and system.
    pub cpu: Duration,
    /// How long the worker was ready to run but waited for a CPU; `None` if the kernel does not report it.
    pub waited: Option<Duration>,
    pub wall: Duration,
    /// Upper bounds on how long bytes waited before they were read; `None` if they are unknown.
    pub receive_delay: Option<TimeHistogram>,
}

fields!(WorkerVitals { stages, coarse_timer });
fields!(StageVitals { cpu, waited, wall, receive_delay });

form!(WorkerVitals = 3, "set of vitals of a worker");
