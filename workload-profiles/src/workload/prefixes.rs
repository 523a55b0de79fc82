//! Texts at the beginning of the prompts of several requests.

use serde::{Deserialize, Serialize};

/// Texts at the beginning of prompts. Each request, or each conversation, has one of them. Every text has the same content in all stages of
/// a run, except for [`PromptReuse::PerStage`](super::PromptReuse::PerStage).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prefixes {
    /// Groups of prefixes, each with one length; empty: no prefix.
    pub buckets: Vec<PrefixBucket>,
    /// How a request gets its prefix.
    pub choice: PrefixChoice,
    /// Position of the prefix.
    pub place: PrefixPlace,
}

/// Prefixes of one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrefixBucket {
    /// The share of the requests that begin with a prefix of this bucket: this weight / the sum of all weights. Above 0.
    pub weight: f64,
    /// Distinct prefixes in the bucket.
    pub count: u32,
    /// The length of each in tokens.
    pub tokens: u32,
}

/// How a request gets its prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrefixChoice {
    /// Drawn for each request.
    #[default]
    Random,
    /// Each prefix for the same number of requests, in shuffled order.
    EqualShares,
}

/// Position of a prefix in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrefixPlace {
    /// At the start of the user message, or of the prompt.
    #[default]
    Prompt,
    /// In its own system message. In a completion, at the start of the prompt.
    System,
}

impl Prefixes {
    /// One prefix of this length, which all requests share; no prefix if the length is 0.
    pub fn shared(tokens: u32, place: PrefixPlace) -> Prefixes {
        if tokens == 0 {
            return Prefixes::default();
        }
        Prefixes {
            buckets: vec![PrefixBucket { weight: 1.0, count: 1, tokens }],
            choice: PrefixChoice::default(),
            place,
        }
    }

    /// Whether there are no prefixes.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }
}
