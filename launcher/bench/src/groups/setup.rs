//! The settings of the groups: the size of the loads, cores and files.

use std::{path::PathBuf, time::Duration};

use crate::cores::Cores;

/// The size of the loads.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    /// Closed loops of paced streams.
    pub(crate) streams: Vec<StreamLoad>,
    /// Tokens of each answer.
    pub(crate) tokens: u32,
    /// Time from a request to its first token.
    pub(crate) ttft: Duration,
    /// Requests of the first wave.
    pub(crate) wave: u32,
    /// Open-loop rates, in requests per second, and how long each lasts.
    pub(crate) rates: Vec<f64>,
    pub(crate) rate_length: Duration,
    /// A rate that only has to be reached.
    pub(crate) fast_rate: f64,
    /// A rate, and two numbers of planned requests: few and many.
    pub(crate) planned: (f64, u64, u64),
    /// Numbers of open streams to measure the memory per stream, and how long the streams wait for their first token.
    pub(crate) open: Vec<u32>,
    pub(crate) open_ttft: Duration,
    /// Numbers of requests of two loads that should take the same memory.
    pub(crate) growth: (u64, u64),
    /// Requests in the report.
    pub(crate) report: u64,
    /// Prompts of each kind.
    pub(crate) prompts: u64,
    /// Number of recorded requests.
    pub(crate) recorded: u64,
    /// Numbers of addresses with scraped metrics, and the total number of scrapes.
    pub(crate) scraped: Vec<u32>,
    pub(crate) scrapes: u32,
}

/// Paced streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamLoad {
    /// Number of concurrent streams.
    pub(crate) streams: u32,
    /// Time from one token to the next.
    pub(crate) itl: Duration,
    /// Number of consecutive requests per stream.
    pub(crate) rounds: u32,
    /// Whether its CPU time is compared: then each side runs as often as the command line requests. Otherwise each side runs once, and there is no
    /// ratio.
    pub(crate) compared: bool,
}

impl Scale {
    /// The loads in `docs/performance.md`.
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

    /// Every load once, and small: checks that it works, not how well.
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

/// The environment of the groups.
pub(crate) struct Bench {
    pub(crate) scale: Scale,
    pub(crate) cores: Cores,
    /// How many times each side of a comparison runs, in turn.
    pub(crate) repeats: u32,
    /// A folder for temporary files.
    pub(crate) folder: PathBuf,
    /// The launcher's binary.
    pub(crate) program: PathBuf,
    /// The tokenizer of the prompts; `None`: a built-in one.
    pub(crate) tokenizer: Option<PathBuf>,
}

pub(super) const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}
