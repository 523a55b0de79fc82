//! [I/O] The groups of measurements, one file per subject. Each group runs its loads and adds its figures with their budgets.

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

/// A part of the whole that can be run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// Streams at a pace: CPU per token against a bare client, tokens held, errors of TTFT, latency and ITL
    Streams,
    /// A thousand concurrent requests
    Wave,
    /// Open-loop load: how late requests are, and whether the rate is kept
    Schedule,
    /// Memory of open streams and of many requests
    Memory,
    /// From the start of the process to the first request, the report of many requests, the size of the binary
    Start,
    /// Prompts of an exact length: how fast they are made, against plain words
    Prompts,
    /// CPU time of recording a request that has ended, with and without the time series
    Recording,
    /// CPU time of reading the server's metrics, at 1, 10 and 100 addresses
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
