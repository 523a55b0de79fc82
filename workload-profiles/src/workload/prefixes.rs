//! Texts that the prompts of several requests begin with.

use serde::{Deserialize, Serialize};

/// Texts that prompts begin with. Each request, or each conversation, has one of them. Every text has the same content in all stages of a
/// run, but for [`PromptReuse::PerStage`](super::PromptReuse::PerStage).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prefixes {
    /// Groups of prefixes of one length; empty: no prefix.
    pub buckets: Vec<PrefixBucket>,
    /// How a request gets its prefix.
    pub choice: PrefixChoice,
    /// Where the prefix stands.
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

/// Where a prefix stands in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrefixPlace {
    /// In the message of the user, or in the prompt, before the rest.
    #[default]
    Prompt,
    /// In a message of the system of its own. A completion has the text before the rest.
    System,
}

impl Prefixes {
    /// One prefix of this length, which all requests share; none where the length is 0.
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

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }
}
