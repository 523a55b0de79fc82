//! Load: when the requests of a stage are sent, and which of them count.

use std::path::PathBuf;

use crds::units::Span;
use serde::{Deserialize, Serialize};

use super::rate::Rate;
use crate::loadgen::{Phase, Scenario};

/// The most requests of a run: each may leave a record.
pub const MAX_REQUESTS: u64 = 10_000_000;

/// A part of the load with one shape. The next one starts when all its requests have ended and its pause is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// Unique in the workload: `r10` for 10 requests per second, `c8` for 8 at once, with `-2` where it comes again.
    pub name: String,
    /// Its shape.
    pub load: Load,
    /// How long nothing is sent after it.
    pub pause_after: Span,
    /// Its first requests, which are sent and are in no figure; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Margin>,
    /// Its last requests, which are sent and are in no figure; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cool_down: Option<Margin>,
    /// How long after its duration what is under way may go on; what is left then is ended and counts as incomplete.
    /// Absent: until it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<Span>,
}

impl Stage {
    /// A stage that counts from its first request to its last, with no pause after it.
    pub fn new(name: impl Into<String>, load: Load) -> Self {
        let pause_after = Span::default();
        Stage { name: name.into(), load, pause_after, warm_up: None, cool_down: None, grace: None }
    }
}

/// The begin or the end of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Margin {
    /// So long.
    Duration(Span),
    /// So many requests.
    Count(u64),
    /// The whole stage.
    All,
}

/// When the requests of a stage are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Load {
    /// Open loop: at times that do not depend on the answers.
    #[serde(rename_all = "camelCase")]
    Open {
        /// How the times are drawn.
        arrivals: Arrivals,
        /// Requests per second.
        rate: Rate,
        /// How long requests are due; absent: until there were `count` of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<Span>,
        /// The most requests; absent: as many as are due in `duration`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// The most requests under way at once: others wait in the client, and their latency counts from their due time
        /// all the same. Absent: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_concurrency: Option<u32>,
    },
    /// Everything at once: all requests are due at the start of the stage.
    #[serde(rename_all = "camelCase")]
    Burst {
        /// How many.
        count: u64,
        /// As of an open loop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_concurrency: Option<u32>,
    },
    /// At recorded times.
    #[serde(rename_all = "camelCase")]
    Trace {
        /// What was recorded.
        trace: Trace,
        /// How fast it is replayed: at 2 in half the time.
        speed: f64,
        /// The most requests; absent: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// Whether prompts and answers have the recorded lengths, where there are some, in place of those of the request
        /// source.
        lengths: bool,
        /// As of an open loop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_concurrency: Option<u32>,
    },
    /// Closed loop: each of some slots sends its next request when its last one has ended.
    #[serde(rename_all = "camelCase")]
    Closed {
        /// How many slots.
        concurrency: u32,
        /// How many requests in all; absent: until the duration is over, and [`MAX_REQUESTS`] at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// How long requests are sent; absent: until there were `count` of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<Span>,
        /// The slots are opened one after the other, evenly within this time.
        #[serde(default)]
        ramp_up: Span,
    },
    /// A phase of an MLPerf LoadGen test: its scenario and settings decide.
    #[serde(rename_all = "camelCase")]
    LoadGen {
        /// How its queries are issued.
        scenario: Scenario,
        /// Which of the workload's tests, from 0.
        test: u32,
        /// Which phase of it.
        phase: Phase,
    },
}

impl Load {
    /// How many requests the load itself says that it sends: the most of them where its duration may end it first; `None`
    /// where a draw, a trace, the settings of a test or the server decides.
    pub fn count(&self) -> Option<u64> {
        match self {
            Load::Burst { count, .. } => Some(*count),
            Load::Open { count, .. } | Load::Trace { count, .. } | Load::Closed { count, .. } => *count,
            Load::LoadGen { .. } => None,
        }
    }

    /// How many requests it sends in the mean; 0 where nobody knows before it ran. Of a trace's file only `count`
    /// is known.
    pub fn mean_count(&self) -> f64 {
        let count = self.count().map(|it| it as f64);
        let of_itself = match self {
            Load::Open { rate, duration: Some(duration), arrivals, .. } => {
                let mean = rate.requests_until(duration.0.as_secs_f64());
                // The first of these is due at once.
                if *arrivals == Arrivals::Constant { mean.map(f64::ceil) } else { mean }
            }
            Load::Trace { trace: Trace::Inline(entries), .. } => Some(entries.len() as f64),
            _ => None,
        };
        match (count, of_itself) {
            (Some(count), Some(mean)) => count.min(mean),
            (count, mean) => count.or(mean).unwrap_or(0.0),
        }
    }

    /// The most requests under way at once, where the load has such a limit.
    pub fn max_concurrency(&self) -> Option<u32> {
        match self {
            Load::Open { max_concurrency, .. }
            | Load::Burst { max_concurrency, .. }
            | Load::Trace { max_concurrency, .. } => *max_concurrency,
            Load::Closed { concurrency, .. } => Some(*concurrency),
            Load::LoadGen { .. } => None,
        }
    }
}

/// How the times of an open-loop stage are drawn. A rate that varies stretches and squeezes them: the draws are made for
/// one request per second, and time is changed by the inverse of the integrated rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Arrivals {
    /// Evenly spaced, the first at once: request i is due at i / rate.
    Constant,
    /// Evenly spaced, the first after a gap: request i is due at (i + 1) / rate.
    ConstantAfterGap,
    /// Exponential gaps: a Poisson process.
    Poisson,
    /// Gamma gaps of shape `burstiness` and of the rate's mean: 1 is a Poisson process, less is burstier, more is more even.
    Gamma {
        /// The shape: 1 / the squared coefficient of variation of the gaps.
        burstiness: f64,
    },
    /// Exponential gaps, rescaled so that the last request is due exactly at the end: a Poisson process conditioned on
    /// its count. This is what inference-perf calls `constant`.
    ConditionedPoisson,
    /// Gamma gaps, rescaled in the same way: what vLLM does with a steady rate.
    ConditionedGamma {
        /// As of [`Arrivals::Gamma`].
        burstiness: f64,
    },
    /// Second by second: a Poisson number of requests, placed by rescaled exponential gaps, until the count is reached.
    /// This is what inference-perf calls `poisson`; its span varies around the duration. Its rate cannot vary.
    PoissonPerSecond,
}

/// Recorded requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Trace {
    /// In the profile, in order of time.
    Inline(Vec<TraceEntry>),
    /// In a file, which the launcher reads before it sends the first request.
    File(TraceFile),
}

/// A recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceEntry {
    /// From the start of the stage, at speed 1.
    pub at: Span,
    /// Length of the prompt in tokens, where it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u32>,
    /// Length of the answer in tokens, where it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u32>,
}

/// Where recorded requests stand, a line each. Times count from the first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceFile {
    /// Where the launcher finds it.
    pub path: PathBuf,
    /// What a line is.
    pub format: TraceFormat,
    /// How its times are written.
    pub time: TraceTime,
    /// The column, or key, with the time.
    pub at_column: String,
    /// The column, or key, with the length of the prompt in tokens; a file may be without it.
    pub input_column: String,
    /// The column, or key, with the length of the answer in tokens; a file may be without it.
    pub output_column: String,
}

/// What a line of a trace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TraceFormat {
    /// Values with commas between them; the first line names the columns.
    Csv,
    /// A JSON object.
    Jsonl,
}

/// How the times of a trace are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TraceTime {
    /// A number of seconds.
    Seconds,
    /// A number of milliseconds.
    Milliseconds,
    /// A number of microseconds.
    Microseconds,
    /// A date and a time of day, `2023-11-16 18:17:03.97996`.
    DateTime,
}
