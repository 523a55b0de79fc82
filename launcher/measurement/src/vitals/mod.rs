//! How the machine affected the launcher while the load ran. Pure: the engine measures it, and `analysis` judges it.

pub mod clocks;
pub mod stalls;
pub mod worker;

use std::time::Duration;

use clocks::ClockSteps;
use stalls::Stalls;

use crate::wire::{fields, form};

/// How the machine affected the launcher while the load ran; `None` if the system does not report it.
#[derive(Clone, Debug, Default)]
pub struct Vitals {
    /// CPU time of all threads of the process, user and system.
    pub process_cpu: Option<Duration>,
    /// Times in which the process could not run.
    pub stalls: Option<Stalls>,
    /// CPU time that the limit of the process's cgroup withheld.
    pub throttling: Option<Throttling>,
    /// Share of the machine's CPU time that the hypervisor gave to others.
    pub steal_share: Option<f64>,
    /// Steps of the clocks during the load.
    pub clock_steps: Option<ClockSteps>,
}

/// CPU time that the limit of the cgroup withheld. A limit of a parent cgroup is not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which the limit was enforced; 0 without a limit.
    pub periods: u64,
    /// Periods in which the limit was reached, so that all threads waited for the next period.
    pub throttled: u64,
    /// How long threads waited because of the limit, summed over the CPUs.
    pub time: Duration,
}

fields!(Vitals { process_cpu, stalls, throttling, steal_share, clock_steps });
fields!(Throttling { periods, throttled, time });

form!(Vitals = 2, "set of vitals");
