//! The settings of the groups: sizes of the loads, cores, and files.

use std::{path::PathBuf, time::Duration};

use crate::cores::Cores;

/// The size of the loads.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    /// The loads with paced streams, as closed loops.
    pub(crate) streams: Vec<StreamLoad>,
    /// Number of tokens in each answer.
    pub(crate) tokens: u32,
    /// Time from a request to its first token.
    pub(crate) ttft: Duration,
    /// Number of concurrent requests in the wave.
    pub(crate) wave: u32,
    /// The open-loop rates in requests per second. The next field is the duration of each.
    pub(crate) rates: Vec<f64>,
    pub(crate) rate_length: Duration,
    /// A rate in requests per second for which only the achieved rate has a budget.
    pub(crate) fast_rate: f64,
    /// (rate in requests per second, small number of planned requests, large number of planned requests).
    pub(crate) planned: (f64, u64, u64),
    /// The numbers of open streams at which memory is measured. The next field is the time to the first token of these streams.
    pub(crate) open: Vec<u32>,
    pub(crate) open_ttft: Duration,
    /// The numbers of requests of two loads. Both loads should need the same memory.
    pub(crate) growth: (u64, u64),
    /// Number of requests in the report.
    pub(crate) report: u64,
    /// Number of prompts of each kind.
    pub(crate) prompts: u64,
    /// Number of recorded requests.
    pub(crate) recorded: u64,
    /// The numbers of addresses whose metrics are scraped. The next field is the total number of scrapes for each of these numbers.
    pub(crate) scraped: Vec<u32>,
    pub(crate) scrapes: u32,
}

/// A load with paced streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamLoad {
    /// Number of concurrent streams.
    pub(crate) streams: u32,
    /// Time between two tokens.
    pub(crate) itl: Duration,
    /// Number of requests per stream, one after another.
    pub(crate) rounds: u32,
    /// Whether CPU time is compared. If so, the engine and the bare client run as many times as the command line requests. Otherwise each runs once,
    /// and there is no ratio.
    pub(crate) compared: bool,
}

impl Scale {
    /// The loads that `docs/performance.md` describes.
    pub(crate) fn full() -> Scale {
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

    /// Every load once, with a small size. Shows that the bench works; the figures mean nothing.
    pub(crate) fn quick() -> Scale {
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

/// What all groups need to run.
pub(crate) struct Bench {
    pub(crate) scale: Scale,
    pub(crate) cores: Cores,
    /// How many times the engine and the bare client run in a comparison, in turn.
    pub(crate) repeats: u32,
    /// The folder for temporary files.
    pub(crate) folder: PathBuf,
    /// The path of the launcher's binary.
    pub(crate) program: PathBuf,
    /// The file of the tokenizer for prompts; `None` for a built-in tokenizer.
    pub(crate) tokenizer: Option<PathBuf>,
}

pub(super) const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}
