//! What the groups need: how large the loads are, cores and files.

use std::{path::PathBuf, time::Duration};

use crate::cores::Cores;

/// How large the loads are.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    /// Closed loops of paced streams.
    pub(crate) streams: Vec<StreamLoad>,
    /// Tokens of each of their answers.
    pub(crate) tokens: u32,
    /// From a request to its first token.
    pub(crate) ttft: Duration,
    /// Requests of the first wave.
    pub(crate) wave: u32,
    /// Open-loop rates, in requests per second, and how long each lasts.
    pub(crate) rates: Vec<f64>,
    pub(crate) rate_length: Duration,
    /// A rate that is only to be kept.
    pub(crate) fast_rate: f64,
    /// A rate, and how many of its requests are planned: few and many.
    pub(crate) planned: (f64, u64, u64),
    /// Streams that are open at once to see what one takes, and how long they wait for their first token.
    pub(crate) open: Vec<u32>,
    pub(crate) open_ttft: Duration,
    /// Requests of two loads that are to take the same memory.
    pub(crate) growth: (u64, u64),
    /// Requests of the report.
    pub(crate) report: u64,
    /// Prompts of each kind.
    pub(crate) prompts: u64,
    /// Requests that are recorded.
    pub(crate) recorded: u64,
    /// Addresses whose metrics are read at a time, and how many scrapes there are of all of them.
    pub(crate) scraped: Vec<u32>,
    pub(crate) scrapes: u32,
}

/// Paced streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamLoad {
    /// How many at once.
    pub(crate) streams: u32,
    /// From one token to the next.
    pub(crate) itl: Duration,
    /// Requests of each, one after the other.
    pub(crate) rounds: u32,
    /// Whether its CPU time is compared: each side runs as often as the command line says. Else once, and there is no ratio.
    pub(crate) compared: bool,
}

impl Scale {
    /// As `docs/performance.md` tells.
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

    /// Everything once, and small: whether it works, not how well.
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

/// What the groups need.
pub(crate) struct Bench {
    pub(crate) scale: Scale,
    pub(crate) cores: Cores,
    /// How often each side of a comparison is run, in turn.
    pub(crate) repeats: u32,
    /// A folder for files of its own.
    pub(crate) folder: PathBuf,
    /// The launcher's binary.
    pub(crate) program: PathBuf,
    /// The tokenizer of the prompts; `None`: a built-in one.
    pub(crate) tokenizer: Option<PathBuf>,
}

pub(super) const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}
