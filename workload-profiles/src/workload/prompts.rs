//! The content of prompts, and the form in which they are sent.

use serde::{Deserialize, Serialize};

/// The content of prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PromptText {
    /// Words drawn at random.
    Words,
    /// A passage of English prose that begins at a random position.
    Prose,
    /// Random token ids, sent as ids, so that the prompt has exactly the requested length. Only for completions.
    TokenIds(TokenIdRange),
}

impl PromptText {
    /// The form of a prompt with this content.
    pub fn form(self) -> PromptForm {
        match self {
            PromptText::Words | PromptText::Prose => PromptForm::Text,
            PromptText::TokenIds(_) => PromptForm::TokenIds,
        }
    }
}

/// Whether the texts of synthetic prompts are repeated. Lengths and times always repeat with the seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PromptReuse {
    /// Each request has a new text in each stage, run and attempt. Shared prefixes and their questions are the same in all stages of a run.
    #[default]
    Fresh,
    /// Request i of a stage has the same text in every run with the same seed. All texts differ between stages, including shared prefixes.
    PerStage,
    /// Request i has the same text in every stage and in every run with the same seed.
    Repeated,
}

/// The form of a prompt in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PromptForm {
    /// A text, which the server tokenizes.
    #[default]
    Text,
    /// A list of token ids.
    TokenIds,
    /// A list of chat messages, as JSON. A completion contains their concatenated texts.
    Messages,
}

/// The range of token ids in prompts. Both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "Range")]
pub struct TokenIdRange {
    min: u32,
    max: u32,
}

/// A range before it is checked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Range {
    min: u32,
    max: u32,
}

/// The ids of plain tokens in the vocabularies of GPT-2, Llama 2 to 4, Mistral, Qwen and similar models. Their special tokens have lower or higher
/// ids.
impl Default for Range {
    fn default() -> Self {
        Range { min: 1_000, max: 31_999 }
    }
}

impl Default for TokenIdRange {
    fn default() -> Self {
        let Range { min, max } = Range::default();
        TokenIdRange { min, max }
    }
}

/// The error for a range without ids.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("min is {min}, above max, which is {max}; token ids are drawn from min to max")]
pub struct TokenIdRangeError {
    /// The lowest id, as written.
    pub min: u32,
    /// The highest id, as written.
    pub max: u32,
}

impl TokenIdRange {
    /// Returns the range from `min` to `max`.
    ///
    /// # Errors
    /// Returns an error if `min` is above `max`.
    pub fn new(min: u32, max: u32) -> Result<TokenIdRange, TokenIdRangeError> {
        if min > max { Err(TokenIdRangeError { min, max }) } else { Ok(TokenIdRange { min, max }) }
    }

    /// The lowest id.
    pub fn min(self) -> u32 {
        self.min
    }

    /// The highest id, at least [`TokenIdRange::min`].
    pub fn max(self) -> u32 {
        self.max
    }
}

impl TryFrom<Range> for TokenIdRange {
    type Error = TokenIdRangeError;

    fn try_from(range: Range) -> Result<Self, TokenIdRangeError> {
        TokenIdRange::new(range.min, range.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: Result<PromptText, &str>) {
        let read = serde_json::from_str::<PromptText>(json).map_err(|error| error.to_string());
        assert_eq!(read, expected.map_err(str::to_owned), "{json}");
    }

    #[test]
    fn token_ids_have_a_range_that_holds_one() {
        let ids = |min, max| Ok(PromptText::TokenIds(TokenIdRange { min, max }));
        check("\"words\"", Ok(PromptText::Words));
        check(r#"{"tokenIds":{}}"#, ids(1_000, 31_999));
        check(r#"{"tokenIds":{"max":1000}}"#, ids(1_000, 1_000));
        check(r#"{"tokenIds":{"min":3,"max":9}}"#, ids(3, 9));
        let none = "min is 10, above max, which is 9; token ids are drawn from min to max";
        check(r#"{"tokenIds":{"min":10,"max":9}}"#, Err(none));
        assert_eq!(serde_json::to_string(&ids(3, 9).unwrap()).unwrap(), r#"{"tokenIds":{"min":3,"max":9}}"#);
    }
}
