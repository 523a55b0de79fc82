//! [I/O] The groups of measurements, one file per group. Each group runs its loads, and adds its figures with their budgets.

mod footprint;
mod percentiles;
mod prompts;
mod recording;
mod schedule;
mod scrapes;
pub(super) mod setup;
mod start;
mod streams;

use clap::ValueEnum;

use super::{error::BenchError, figures::Figures};
use setup::Bench;

/// A group of measurements that can be run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// Streams at a fixed pace: CPU per token compared with a bare client, share of tokens in time, errors of TTFT, latency and ITL
    Streams,
    /// A thousand concurrent requests
    Wave,
    /// Open-loop load: how late requests are sent, and whether the rate is reached
    Schedule,
    /// Memory of open streams, and of many requests
    Memory,
    /// Time from the start of the process to its first request, time to report many requests, size of the binary
    Start,
    /// Prompts of an exact length: how fast they are generated, compared with plain words
    Prompts,
    /// CPU time to record a finished request, with and without the time series
    Recording,
    /// CPU time to read the server's metrics at 1, 10 and 100 addresses
    Scrapes,
}

impl Bench {
    pub(super) fn run(&self, group: Group, figures: &mut Figures) -> Result<(), BenchError> {
        match group {
            Group::Streams => streams::run(self, figures),
            Group::Wave => streams::wave(self, figures),
            Group::Schedule => schedule::run(self, figures),
            Group::Memory => footprint::run(self, figures),
            Group::Start => start::run(self, figures),
            Group::Prompts => prompts::run(self, figures),
            Group::Recording => recording::run(self, figures),
            Group::Scrapes => scrapes::run(self, figures),
        }
    }
}
