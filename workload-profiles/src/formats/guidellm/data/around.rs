//! The data of a scenario, and the parts of the scenario that reading the data requires.

use crate::{
    formats::guidellm::profile::Strategy,
    workload::{Images, RequestSource, Trace},
};

/// What the requests contain.
pub(in crate::formats::guidellm) struct Data {
    pub requests: RequestSource,
    pub images: Option<Images>,
    /// Whether the data specifies the length of answers. GuideLLM then requests exactly this length.
    pub has_output: bool,
    /// Requests per session. 1 if there are no conversations.
    pub turns: u32,
    /// Whether the data has no end.
    pub endless: bool,
    /// Maximum rows that each strategy sends.
    pub rows: Option<u64>,
    /// The recorded requests that a replay sends, and the factor by which the data source slows them down.
    pub trace: Option<(Trace, f64)>,
}

/// Settings of a scenario outside its data that are needed to read the data.
pub(in crate::formats::guidellm) struct Around<'a> {
    /// Maximum tokens of an answer, if the data does not specify its length.
    pub max_tokens: Option<u32>,
    /// Whether requests contain messages.
    pub has_messages: bool,
    pub strategies: Option<&'a [Strategy]>,
}
