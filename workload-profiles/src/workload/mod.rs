//! Workload: the load that the launcher's engine runs, in whichever format it was written.
//!
//! The parser of each format fills in every default. The workload is part of `report.json`, so that a report alone is enough
//! to repeat its run.

mod abandonment;
mod data_set;
mod load;
mod probes;
mod prompts;
mod rate;
mod sampling;
mod time_change;
mod timeouts;
mod window;

use std::{collections::BTreeMap, path::PathBuf};

use crds::{
    benchmark_run::Api,
    units::{Seed, Span},
};
use serde::{Deserialize, Serialize};

pub use abandonment::{Abandonment, Departure};
pub use data_set::{DataSet, DataSetFormat, PromptColumn};
pub use load::{Arrivals, Load, MAX_REQUESTS, Margin, Stage, Trace, TraceEntry, TraceFile, TraceFormat, TraceTime};
pub use probes::Probes;
pub use prompts::{PromptForm, PromptReuse, PromptText, TokenIdRange, TokenIdRangeError};
pub use rate::{RampUpStrategy, Rate, RatePoint, RateShape};
pub use sampling::{Extra, ExtraError, LengthField, Sampling};
pub use time_change::TimeChange;
pub use timeouts::Timeouts;
pub use window::Window;

pub use crate::loadgen::{AutoQps, LoadGen, LoadGenTest, Phase};

/// The load of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Workload {
    /// The API that is called.
    pub api: Api,
    /// Whether answers are streamed. Without streams there is no TTFT, TPOT or ITL.
    pub streaming: bool,
    /// The model that requests name; absent: the one that the server serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Header fields sent with every request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The content of the requests.
    pub requests: RequestSource,
    /// Whether the texts of synthetic prompts are used again.
    #[serde(default)]
    pub prompts: PromptReuse,
    /// When the requests are sent. Stages run one after the other.
    pub stages: Vec<Stage>,
    /// The MLPerf LoadGen tests whose phases are the stages; absent for any other load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loadgen: Option<LoadGen>,
    /// Which requests are in the figures.
    #[serde(default)]
    pub window: Window,
    /// Clients that go away early; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abandonment: Option<Abandonment>,
    /// Tiny requests beside the load; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<Probes>,
    /// How the server is to generate.
    #[serde(default)]
    pub sampling: Sampling,
    /// How long a request, and each part of it, may take.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Bounds that a request must meet to count as good.
    #[serde(default, skip_serializing_if = "Goodput::is_empty")]
    pub goodput: Goodput,
}

impl Workload {
    /// The paths of the other files that it needs: traces and a data set.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let set = match &mut self.requests {
            RequestSource::DataSet(set) => Some(&mut set.path),
            _ => None,
        };
        let traces = self.stages.iter_mut().filter_map(|stage| match &mut stage.load {
            Load::Trace { trace: Trace::File(file), .. } => Some(&mut file.path),
            _ => None,
        });
        traces.chain(set)
    }
}

/// Bounds that a request must meet to count as good; none set: goodput is not reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Goodput {
    /// Time to the first token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft: Option<Span>,
    /// Time per output token after the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpot: Option<Span>,
    /// Mean gap between content events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub itl: Option<Span>,
    /// Latency per output token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ntpot: Option<Span>,
    /// Time to the last token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Span>,
}

impl Goodput {
    /// Whether no bound is set.
    pub fn is_empty(&self) -> bool {
        *self == Goodput::default()
    }
}

/// The content of the requests. Request i has the same lengths in every stage and in every run with the same seed.
/// [`PromptReuse`] decides on its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestSource {
    /// A fixed short text with the request's number; the server decides how long the answer is.
    Mock,
    /// Unrelated prompts of drawn lengths.
    #[serde(rename_all = "camelCase")]
    Random {
        /// Prompt lengths in tokens.
        input: LengthDistribution,
        /// Requested output lengths in tokens.
        output: LengthDistribution,
        /// Random words, running text, or token ids.
        text: PromptText,
    },
    /// Groups of prompts that begin with the same text.
    #[serde(rename_all = "camelCase")]
    SharedPrefix {
        /// Distinct prefixes.
        groups: u32,
        /// Distinct questions for each prefix.
        prompts_per_group: u32,
        /// Length of the prefix in tokens.
        system_prompt_len: LengthDistribution,
        /// Length of the question in tokens.
        question_len: LengthDistribution,
        /// Asked output length in tokens.
        output_len: LengthDistribution,
        /// Seed of the order and the texts, which are then the same in every run; absent: the run's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seed: Option<Seed>,
    },
    /// The rows of a file.
    DataSet(DataSet),
}

impl RequestSource {
    /// The form in which requests hold their prompts.
    pub fn form(&self) -> PromptForm {
        match self {
            RequestSource::Random { text, .. } => text.form(),
            RequestSource::DataSet(set) => set.prompt.form,
            RequestSource::Mock | RequestSource::SharedPrefix { .. } => PromptForm::Text,
        }
    }
}

/// Lengths in tokens: drawn, clipped to min and max, rounded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LengthDistribution {
    /// The shape.
    pub shape: Shape,
    /// The smallest length.
    pub min: u32,
    /// The largest length.
    pub max: u32,
    /// The mean of the shape before clipping.
    pub mean: f64,
    /// The standard deviation of the shape before clipping.
    pub std_dev: f64,
    /// The number of lengths that are drawn before they repeat; absent: one for each request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_count: Option<u32>,
}

impl LengthDistribution {
    /// The same length always.
    pub fn fixed(length: u32) -> Self {
        LengthDistribution {
            shape: Shape::Fixed,
            min: length,
            max: length,
            mean: f64::from(length),
            std_dev: 0.0,
            total_count: None,
        }
    }
}

/// The shape of a length distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Shape {
    /// Gaussian.
    Normal,
    /// Log-normal with the given mean and standard deviation of the lengths themselves.
    Lognormal,
    /// Each length from min to max with the same probability.
    Uniform,
    /// Always the mean.
    Fixed,
}
