//! When the requests of a stage are sent, and which of them count.

use crds::units::{RequestRate, Span};
use serde::{Deserialize, Serialize};

use super::{
    FileSource,
    rate::{Rate, RateShape},
};
use crate::loadgen::{Phase, Scenario};

/// Maximum requests per run. Each request can write a record.
pub const MAX_REQUESTS: u64 = 10_000_000;

/// A part of the load. The next stage starts when all requests of this stage have ended and its pause is over.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// The name, which is unique in the workload. The default is `r10` for 10 requests per second and `c8` for concurrency 8. The second stage with
    /// the same default name gets the suffix `-2`.
    pub name: String,
    /// When the stage's requests are sent.
    pub load: Load,
    /// The pause after the stage, in which nothing is sent.
    pub pause_after: Span,
    /// The first part of the stage. Its requests are sent, but not included in any figure. If absent, the stage has no such part.
    pub warm_up: Option<Margin>,
    /// The last part of the stage. Its requests are sent, but not included in any figure. If absent, the stage has no such part.
    pub cool_down: Option<Margin>,
    /// How long requests can still run after the end of the stage's duration. Requests in flight at the end of this time are cancelled and count as
    /// incomplete. If absent, there is no limit.
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
    /// Open loop: requests are sent at times that do not depend on the answers.
    #[serde(rename_all = "camelCase")]
    Open {
        /// How the send times are drawn.
        arrivals: Arrivals,
        /// Requests per second.
        rate: Rate,
        /// How long requests are sent. If absent, requests are sent until `count` is reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<Span>,
        /// Maximum requests. If absent, all requests that are due within `duration` are sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// Maximum concurrency. Requests above it wait in the client, and their latency includes the wait. If absent, there is no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_concurrency: Option<u32>,
    },
    /// A burst: all requests are due at the start of the stage.
    #[serde(rename_all = "camelCase")]
    Burst {
        /// The number of requests in the burst.
        count: u64,
        /// Maximum concurrency, as in an open loop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_concurrency: Option<u32>,
    },
    /// Replays requests at recorded times.
    #[serde(rename_all = "camelCase")]
    Trace {
        /// The recorded requests.
        trace: Trace,
        /// The speed of the replay: 2 replays in half the time.
        speed: f64,
        /// Maximum requests. If absent, all recorded requests are sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// Whether the recorded lengths replace the lengths from the request source. A request without a recorded length keeps its length from the
        /// source.
        lengths: bool,
        /// Maximum concurrency, as in an open loop.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_concurrency: Option<u32>,
    },
    /// Closed loop: each slot sends its next request when its previous one has ended.
    #[serde(rename_all = "camelCase")]
    Closed {
        /// The number of slots.
        concurrency: u32,
        /// Maximum requests in total. If absent, the maximum is [`MAX_REQUESTS`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
        /// How long requests are sent. If absent, requests are sent until `count` is reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<Span>,
        /// The time in which the slots open one by one, evenly spaced.
        #[serde(default)]
        ramp_up: Span,
        /// Maximum rate at which all slots together start requests. Two starts are at least 1 / rate apart. If absent, there is no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start_rate: Option<RequestRate>,
    },
    /// A fixed number of users. Each user sends one turn every users / rate seconds. After the last turn the user's session ends, and a new user
    /// takes over. The initial users start at different turns, so that the load is mixed from the first second. Request i is due at i / rate,
    /// independent of the answers.
    #[serde(rename_all = "camelCase")]
    Users {
        /// Number of users who are active at any time.
        users: u32,
        /// The rate of all users together, in requests per second.
        rate: RequestRate,
        /// Turns per user.
        turns: u32,
        /// How long requests are sent. If absent, requests are sent until `count` is reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<Span>,
        /// Maximum requests. If absent, all requests that are due within `duration` are sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// A phase of an MLPerf LoadGen test. The scenario and the settings of the test decide when requests are sent.
    #[serde(rename_all = "camelCase")]
    LoadGen {
        /// How the test's queries are issued.
        scenario: Scenario,
        /// The index of the test in the workload, from 0.
        test: u32,
        /// The phase of the test.
        phase: Phase,
    },
}

impl Load {
    /// A closed loop with this concurrency and this number of requests.
    pub fn closed(concurrency: u32, count: u64) -> Load {
        Load::Closed { concurrency, count: Some(count), duration: None, ramp_up: Span::default(), start_rate: None }
    }

    /// Returns the number of requests that the load specifies, although its duration can end the load before that number. `None` if the number
    /// depends on random draws, a trace, the settings of a test, or the server.
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

    /// Returns the expected number of requests. 0 if it is not known before the run. For a trace in a file only `count` is known.
    pub fn mean_count(&self) -> f64 {
        let count = self.count().map(|it| it as f64);
        let of_rate_or_trace = match self {
            Load::Open { rate, duration: Some(duration), arrivals, .. } => {
                let mean = rate.requests_until(duration.0.as_secs_f64());
                // The first request is due immediately, so the number is rounded up.
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

    /// Whether the load's rate is computed from earlier stages.
    pub fn has_measured_rate(&self) -> bool {
        matches!(self, Load::Open { rate: Rate::Varying(RateShape::Measured(_)), .. })
    }

    /// Returns the maximum concurrency, if the load has such a limit.
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

/// How the send times of an open loop are drawn. For a varying rate, times are first drawn for one request per second. Then they are mapped through
/// the inverse of the integrated rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Arrivals {
    /// Evenly spaced. The first request is due immediately: request i is due at i / rate.
    Constant,
    /// Evenly spaced. The first request is due after a gap: request i is due at (i + 1) / rate.
    ConstantAfterGap,
    /// Exponential gaps: a Poisson process.
    Poisson,
    /// Gamma gaps with the shape `burstiness`. Their mean is 1 / rate. Burstiness 1 is a Poisson process. Values below 1 are burstier, values above 1
    /// are more even.
    Gamma {
        /// The shape parameter: 1 / the squared coefficient of variation of the gaps.
        burstiness: f64,
    },
    /// Exponential gaps, rescaled so that the last request is due exactly at the end. This is a Poisson process conditioned on its count.
    /// inference-perf calls it `constant`.
    ConditionedPoisson,
    /// Gamma gaps, rescaled so that the last request is due exactly at the end. vLLM's tool does this for a steady rate.
    ConditionedGamma {
        /// The shape parameter, as for [`Arrivals::Gamma`].
        burstiness: f64,
    },
    /// Draws a Poisson number of requests for each second, and places them by rescaled exponential gaps, until the count is reached. inference-perf
    /// calls this `poisson`. The total time varies around the duration. The rate must be constant.
    PoissonPerSecond,
}

/// Recorded requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Trace {
    /// Requests in the profile itself, ordered by time.
    Inline(Vec<TraceEntry>),
    /// Requests in a file, which the launcher reads before it sends the first request.
    File(TraceFile),
}

/// A recorded request.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceEntry {
    /// The time since the start of the stage, at replay speed 1.
    pub at: Span,
    /// Length of the prompt in tokens, if it was recorded.
    pub input: Option<u32>,
    /// Length of the answer in tokens, if it was recorded.
    pub output: Option<u32>,
}

/// A file with one recorded request per line. The first request is at time 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceFile {
    /// The file.
    #[serde(rename = "path")]
    pub file: FileSource,
    /// The format of each line.
    pub format: TraceFormat,
    /// The format of the times.
    pub time: TraceTime,
    /// The column or key that contains the time.
    pub at_column: String,
    /// The column or key that contains the length of the prompt in tokens. The file may omit it.
    pub input_column: String,
    /// The column or key that contains the length of the answer in tokens. The file may omit it.
    pub output_column: String,
    /// The column or key that contains the hashes of the prompt's blocks. If absent, hashes are not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hashes_column: Option<String>,
}

/// The format of a line of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TraceFormat {
    /// Comma-separated values. The first line contains the names of the columns.
    Csv,
    /// One JSON object per line.
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
    /// A date and a time of day, such as `2023-11-16 18:17:03.97996`.
    DateTime,
}
