//! Texts at the beginning of the prompts of several requests.

use serde::{Deserialize, Serialize};

/// Texts at the beginning of prompts. Each request, or each conversation, begins with one of them. Every text is the same in all stages of a run,
/// except for [`PromptReuse::PerStage`](super::PromptReuse::PerStage).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prefixes {
    /// Groups of prefixes. All prefixes of a group have the same length. Empty: no prefixes.
    pub buckets: Vec<PrefixBucket>,
    /// How a prefix is chosen for a request.
    pub choice: PrefixChoice,
    /// The position of the prefix.
    pub place: PrefixPlace,
}

/// Several prefixes with the same length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PrefixBucket {
    /// The share of requests whose prefix is from this bucket: this weight divided by the sum of all weights. Above 0.
    pub weight: f64,
    /// Number of distinct prefixes in the bucket.
    pub count: u32,
    /// Length of each prefix, in tokens.
    pub tokens: u32,
}

/// How a prefix is chosen for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrefixChoice {
    /// Drawn at random for each request.
    #[default]
    Random,
    /// In shuffled order, such that each prefix is used equally often.
    EqualShares,
}

/// The position of a prefix in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrefixPlace {
    /// At the start of the user message, or of the prompt.
    #[default]
    Prompt,
    /// In a system message of its own. In a completion, at the start of the prompt.
    System,
}

impl Prefixes {
    /// One prefix of this length, which all requests share. No prefix if the length is 0.
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
