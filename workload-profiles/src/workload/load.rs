//! Load: when the requests of a stage are sent, and which requests count.

use crds::units::{RequestRate, Span};
use serde::{Deserialize, Serialize};

use super::{
    FileSource,
    rate::{Rate, RateShape},
};
use crate::loadgen::{Phase, Scenario};

/// Maximum requests of a run: each may write a record.
pub const MAX_REQUESTS: u64 = 10_000_000;

/// A part of the load with one shape. The next stage starts when all requests of this one have ended and its pause is over.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// Unique in the workload. The default is `r10` for 10 requests per second and `c8` for concurrency 8, with `-2` for the second stage of
    /// the same name.
    pub name: String,
    /// The shape of the stage's load.
    pub load: Load,
    /// The pause after the stage, in which nothing is sent.
    pub pause_after: Span,
    /// The first requests of the stage, which are sent but excluded from all figures; absent: none.
    pub warm_up: Option<Margin>,
    /// The last requests of the stage, which are sent but excluded from all figures; absent: none.
    pub cool_down: Option<Margin>,
    /// How long requests may still run after the duration of the stage. Requests in flight after that are cancelled and count as incomplete.
    /// Absent: no limit.
    pub grace: Option<Span>,
}

impl Stage {
    /// A stage without margins and without a pause after it.
    pub fn new(name: impl Into<String>, load: Load) -> Self {
        let pause_after = Span::default();
        Stage { name: name.into(), load, pause_after, warm_up: None, cool_down: None, grace: None }
    }
}

/// A part at the start or at the end of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Margin {
    /// A length of time.
    Duration(Span),
    /// A number of requests.
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
        /// How long requests are sent; absent: until `count` were sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<Span>,
        /// Maximum requests; absent: all that are due within `duration`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// Maximum concurrency. Other requests wait in the client, and their latency includes the wait. Absent: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_concurrency: Option<u32>,
    },
    /// A burst: all requests are due at the start of the stage.
    #[serde(rename_all = "camelCase")]
    Burst {
        /// The number of requests.
        count: u64,
        /// As for an open loop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_concurrency: Option<u32>,
    },
    /// At recorded times.
    #[serde(rename_all = "camelCase")]
    Trace {
        /// The recorded requests.
        trace: Trace,
        /// The speed of the replay: 2 replays in half the time.
        speed: f64,
        /// Maximum requests; absent: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// Whether recorded lengths, where a request has them, replace the lengths of the request source.
        lengths: bool,
        /// As for an open loop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_concurrency: Option<u32>,
    },
    /// Closed loop: each slot sends its next request when its last one has ended.
    #[serde(rename_all = "camelCase")]
    Closed {
        /// The number of slots.
        concurrency: u32,
        /// Maximum requests in all; absent: [`MAX_REQUESTS`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// How long requests are sent; absent: until `count` were sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<Span>,
        /// The slots open one by one, evenly spaced within this time.
        #[serde(default)]
        ramp_up: Span,
        /// Maximum requests that all slots together start per second: starts are at least 1 / rate apart. Absent: no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start_rate: Option<RequestRate>,
    },
    /// A fixed number of users. Each user sends one turn every users / rate seconds. Sessions end after their turns, and new users replace
    /// them. The initial users start at different turns, so that the load is mixed from the first second. Request i is due at i / rate,
    /// independent of the answers.
    #[serde(rename_all = "camelCase")]
    Users {
        /// Users at each time.
        users: u32,
        /// Requests per second of all users together.
        rate: RequestRate,
        /// Turns of a user.
        turns: u32,
        /// How long requests are sent; absent: until `count` were sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<Span>,
        /// Maximum requests; absent: all that are due within `duration`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// A phase of an MLPerf LoadGen test. The scenario and the settings of the test decide when requests are sent.
    #[serde(rename_all = "camelCase")]
    LoadGen {
        /// How its queries are issued.
        scenario: Scenario,
        /// The index of the workload's test, from 0.
        test: u32,
        /// The phase of the test.
        phase: Phase,
    },
}

impl Load {
    /// A closed loop of this many requests.
    pub fn closed(concurrency: u32, count: u64) -> Load {
        Load::Closed { concurrency, count: Some(count), duration: None, ramp_up: Span::default(), start_rate: None }
    }

    /// The number of requests that the load specifies; its duration may end it earlier. `None` if a draw, a trace, a test's settings or the
    /// server decides.
    pub fn count(&self) -> Option<u64> {
        match self {
            Load::Burst { count, .. } => Some(*count),
            Load::Open { count, .. }
            | Load::Trace { count, .. }
            | Load::Closed { count, .. }
            | Load::Users { count, .. } => *count,
            Load::LoadGen { .. } => None,
        }
    }

    /// The mean number of requests; 0 where it is not known before the run. Of a trace in a file only `count` is known.
    pub fn mean_count(&self) -> f64 {
        let count = self.count().map(|it| it as f64);
        let of_rate_or_trace = match self {
            Load::Open { rate, duration: Some(duration), arrivals, .. } => {
                let mean = rate.requests_until(duration.0.as_secs_f64());
                // The first request is due immediately.
                if *arrivals == Arrivals::Constant { mean.map(f64::ceil) } else { mean }
            }
            Load::Users { rate, duration: Some(duration), .. } => Some(rate.per_second() * duration.0.as_secs_f64()),
            Load::Trace { trace: Trace::Inline(entries), .. } => Some(entries.len() as f64),
            _ => None,
        };
        match (count, of_rate_or_trace) {
            (Some(count), Some(mean)) => count.min(mean),
            (count, mean) => count.or(mean).unwrap_or(0.0),
        }
    }

    /// Whether its rate comes from earlier stages.
    pub fn has_measured_rate(&self) -> bool {
        matches!(self, Load::Open { rate: Rate::Varying(RateShape::Measured(_)), .. })
    }

    /// Maximum concurrency, if the load has such a limit.
    pub fn max_concurrency(&self) -> Option<u32> {
        match self {
            Load::Open { max_concurrency, .. }
            | Load::Burst { max_concurrency, .. }
            | Load::Trace { max_concurrency, .. } => *max_concurrency,
            Load::Closed { concurrency, .. } => Some(*concurrency),
            Load::Users { .. } | Load::LoadGen { .. } => None,
        }
    }
}

/// How the times of an open-loop stage are drawn. For a varying rate, times are drawn at one request per second, and then mapped through
/// the inverse of the integrated rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Arrivals {
    /// Evenly spaced, the first immediately: request i is due at i / rate.
    Constant,
    /// Evenly spaced, the first after a gap: request i is due at (i + 1) / rate.
    ConstantAfterGap,
    /// Exponential gaps: a Poisson process.
    Poisson,
    /// Gamma gaps of shape `burstiness` and of the rate's mean: 1 is a Poisson process, below 1 is burstier, above 1 more even.
    Gamma {
        /// The shape: 1 / the squared coefficient of variation of the gaps.
        burstiness: f64,
    },
    /// Exponential gaps, rescaled so that the last request is due exactly at the end: a Poisson process conditioned on its count.
    /// inference-perf calls this `constant`.
    ConditionedPoisson,
    /// Gamma gaps, rescaled in the same way, as in vLLM with a steady rate.
    ConditionedGamma {
        /// As for [`Arrivals::Gamma`].
        burstiness: f64,
    },
    /// Second by second: a Poisson number of requests, placed by rescaled exponential gaps, until the count is reached. inference-perf calls
    /// this `poisson`; its span varies around the duration. Its rate cannot vary.
    PoissonPerSecond,
}

/// Recorded requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Trace {
    /// In the profile itself, in order of time.
    Inline(Vec<TraceEntry>),
    /// From a file, which the launcher reads before it sends the first request.
    File(TraceFile),
}

/// A recorded request.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceEntry {
    /// The time from the start of the stage, at speed 1.
    pub at: Span,
    /// Length of the prompt in tokens, where it was recorded.
    pub input: Option<u32>,
    /// Length of the answer in tokens, where it was recorded.
    pub output: Option<u32>,
}

/// A file with one recorded request per line. Times count from the first request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceFile {
    /// The file.
    #[serde(rename = "path")]
    pub file: FileSource,
    /// The format of a line.
    pub format: TraceFormat,
    /// The format of the times.
    pub time: TraceTime,
    /// The column, or key, with the time.
    pub at_column: String,
    /// The column, or key, with the length of the prompt in tokens, if the file has it.
    pub input_column: String,
    /// The column, or key, with the length of the answer in tokens, if the file has it.
    pub output_column: String,
    /// The column, or key, with the hashes of the blocks of the prompt, if the file has it; absent: it is not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hashes_column: Option<String>,
}

/// The format of a line of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TraceFormat {
    /// Values separated by commas; the first line names the columns.
    Csv,
    /// A JSON object.
    Jsonl,
}

/// The format of the times of a trace.
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
