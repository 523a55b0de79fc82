//! How the machine affected the launcher during the load. Pure: the engine measures it, and `analysis` judges it.

pub mod clocks;
pub mod stalls;
pub mod worker;

use std::time::Duration;

use clocks::ClockSteps;
use stalls::Stalls;

use crate::wire::{fields, form};

/// How the machine affected the launcher during the load. A field is `None` if the system does not report it.
#[derive(Clone, Debug, Default)]
pub struct Vitals {
    /// CPU time of all threads of the process, user and system.
    pub process_cpu: Option<Duration>,
    /// Times in which the process could not run.
    pub stalls: Option<Stalls>,
    /// CPU time that the process did not get because of its cgroup's limit.
    pub throttling: Option<Throttling>,
    /// Share of the machine's CPU time that the hypervisor gave to other guests, from 0 to 1.
    pub steal_share: Option<f64>,
    /// Steps of the clocks during the load.
    pub clock_steps: Option<ClockSteps>,
}

/// CPU time withheld by the limit of the process's own cgroup. Limits of parent cgroups are not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Number of periods in which the limit was enforced; 0 if there is no limit.
    pub periods: u64,
    /// Number of periods in which the limit was reached, so that all threads had to wait for the next period.
    pub throttled: u64,
    /// How long threads waited because of the limit, summed over the CPUs.
    pub time: Duration,
}

fields!(Vitals { process_cpu, stalls, throttling, steal_share, clock_steps });
fields!(Throttling { periods, throttled, time });

form!(Vitals = 2, "set of vitals");
