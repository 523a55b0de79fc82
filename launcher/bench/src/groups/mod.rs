//! [I/O] The groups of measurements, one file per subject. Each group runs its loads and adds its figures with their budgets.

mod footprint;
mod prompts;
mod recording;
mod schedule;
mod scrapes;
mod start;
mod streams;

use std::{path::PathBuf, time::Duration};

use clap::ValueEnum;

use super::{BenchError, cores::Cores, figures::Figures};
use analysis::Distribution;
use measurement::histogram::TimeHistogram;

/// A part of the whole that can be run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// Streams at a pace: CPU per token against a bare client, tokens held, errors of TTFT, latency and ITL
    Streams,
    /// A thousand requests at once
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

/// How large the loads are.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    /// Closed loops of paced streams.
    pub(super) streams: Vec<StreamLoad>,
    /// Tokens of each of their answers.
    pub(super) tokens: u32,
    /// From a request to its first token.
    pub(super) ttft: Duration,
    /// Requests of the first wave.
    pub(super) wave: u32,
    /// Open-loop rates, in requests per second, and how long each lasts.
    pub(super) rates: Vec<f64>,
    pub(super) rate_length: Duration,
    /// A rate that is only to be kept.
    pub(super) fast_rate: f64,
    /// A rate, and how many of its requests are planned: few and many.
    pub(super) planned: (f64, u64, u64),
    /// Streams that are open at once to see what one takes, and how long they wait for their first token.
    pub(super) open: Vec<u32>,
    pub(super) open_ttft: Duration,
    /// Requests of two loads that are to take the same memory.
    pub(super) growth: (u64, u64),
    /// Requests of the report.
    pub(super) report: u64,
    /// Prompts of each kind.
    pub(super) prompts: u64,
    /// Requests that are recorded.
    pub(super) recorded: u64,
    /// Addresses whose metrics are read at a time, and how many scrapes there are of all of them.
    pub(super) scraped: Vec<u32>,
    pub(super) scrapes: u32,
}

/// Paced streams.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamLoad {
    /// How many at once.
    pub(super) streams: u32,
    /// From one token to the next.
    pub(super) itl: Duration,
    /// Requests of each, one after the other.
    pub(super) rounds: u32,
    /// Whether its CPU time is compared: each side runs as often as the command line says. Else once, and there is no ratio.
    pub(super) compared: bool,
}

impl Scale {
    /// As `docs/performance.md` tells.
    pub(super) fn full() -> Scale {
        let load = |streams, itl, rounds, compared| StreamLoad { streams, itl: millis(itl), rounds, compared };
        Scale {
            streams: vec![
                load(10, 5, 6, false),
                load(50, 10, 3, true),
                load(100, 5, 6, true),
                load(500, 5, 6, false),
                load(1_000, 5, 6, true),
            ],
            tokens: 128,
            ttft: millis(50),
            wave: 1_000,
            rates: vec![100.0, 1_000.0, 5_000.0],
            rate_length: millis(4_000),
            fast_rate: 10_000.0,
            planned: (5_000.0, 5_000, 75_000),
            open: vec![1_000, 10_000],
            open_ttft: millis(4_000),
            growth: (10_000, 100_000),
            report: 100_000,
            prompts: 100_000,
            recorded: 200_000,
            scraped: vec![1, 10, 100],
            scrapes: 2_000,
        }
    }

    /// Everything once, and small: whether it works, not how well.
    pub(super) fn quick() -> Scale {
        Scale {
            streams: vec![StreamLoad { streams: 4, itl: millis(2), rounds: 2, compared: true }],
            tokens: 8,
            ttft: millis(5),
            wave: 16,
            rates: vec![200.0],
            rate_length: millis(250),
            fast_rate: 400.0,
            planned: (400.0, 40, 120),
            open: vec![20, 40],
            open_ttft: millis(100),
            growth: (100, 400),
            report: 500,
            prompts: 20,
            recorded: 100,
            scraped: vec![2],
            scrapes: 4,
        }
    }
}

/// What the groups need.
pub(super) struct Bench {
    pub(super) scale: Scale,
    pub(super) cores: Cores,
    /// How often each side of a comparison is run, in turn.
    pub(super) repeats: u32,
    /// A folder for files of its own.
    pub(super) folder: PathBuf,
    /// The launcher's binary.
    pub(super) program: PathBuf,
    /// The tokenizer of the prompts; `None`: a built-in one.
    pub(super) tokenizer: Option<PathBuf>,
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

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// The percentiles of errors and lags that are told, by the end of a figure's name.
const PERCENTILES: [(&str, Pick); 2] = [("p50", |it| it.p50), ("p99", |it| it.p99)];

type Pick = fn(&Distribution<Duration>) -> Duration;

/// A figure of some times in milliseconds; NaN where there are none.
fn of_times_ms(times: &TimeHistogram, pick: Pick) -> f64 {
    Distribution::of_times(times).map_or(f64::NAN, |it| pick(&it).as_secs_f64() * 1e3)
}

/// 1000 as `1,000`.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_commas() {
        for (number, text) in [(7, "7"), (100, "100"), (1_000, "1,000"), (75_000, "75,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn no_times_have_no_percentile() {
        let mut times = TimeHistogram::default();
        for (_, pick) in PERCENTILES {
            assert!(of_times_ms(&times, pick).is_nan());
        }
        times.record(millis(3));
        for (_, pick) in PERCENTILES {
            assert!((of_times_ms(&times, pick) - 3.0).abs() < 0.01);
        }
    }
}
