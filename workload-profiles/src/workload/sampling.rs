//! Sampling: how the server generates answers, as fields of the request body.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Fields of the body that the launcher writes itself.
const LAUNCHER_FIELDS: [&str; 12] = [
    "model",
    "prompt",
    "messages",
    "input",
    "system",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "min_tokens",
    "ignore_eos",
    "stream",
    "stream_options",
];
/// Maximum bytes of all additional fields as JSON. Every request contains them.
const MAX_EXTRA_BYTES: usize = 64 << 10;

/// How the server generates answers. The server decides everything that is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Sampling {
    /// Whether the server generates up to the requested length, even if the model would stop earlier.
    pub ignore_eos: bool,
    /// Minimum tokens per answer. If a request has a lower output length, that length is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_tokens: Option<u32>,
    /// The name of the field with the requested output length in a chat.
    #[serde(skip_serializing_if = "LengthField::is_default")]
    pub length_field: LengthField,
    /// Additional fields of the body, sent unchanged: `temperature`, `top_p`, `stop` and others that the server supports.
    #[serde(skip_serializing_if = "Extra::is_empty")]
    pub extra: Extra,
}

impl Sampling {
    /// Returns the number of answers per prompt: the additional field `n`, or 1. Their tokens are counted together.
    pub fn choices(&self) -> u32 {
        let requested = self.extra.0.get("n").and_then(Value::as_u64).and_then(|it| u32::try_from(it).ok());
        requested.map_or(1, |it| it.max(1))
    }
}

/// The name of the field with the requested output length in a chat. A completion always uses `max_tokens`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LengthField {
    /// `max_tokens`, which every server supports.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, the newer name in chats.
    MaxCompletionTokens,
    /// No field is sent. The server decides, and the output lengths of the requests are ignored.
    NotSent,
}

impl LengthField {
    fn is_default(&self) -> bool {
        *self == LengthField::default()
    }
}

/// Additional fields of the request body, at most 64 KiB. Fields that the launcher writes itself are not allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, Value>", into = "BTreeMap<String, Value>")]
pub struct Extra(BTreeMap<String, Value>);

/// The reason why fields cannot be added to the body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtraError {
    /// A field that the launcher writes itself.
    #[error("{name} is a field that the launcher writes itself; take it out")]
    Reserved {
        /// The name of the field.
        name: String,
    },
    /// The fields exceed the maximum size.
    #[error("the fields have {found} bytes, and {MAX_EXTRA_BYTES} are sent at most; take some out")]
    TooLong {
        /// The size of all fields as JSON, in bytes.
        found: usize,
    },
}

impl Extra {
    /// Whether there are no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns each field with its value, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl TryFrom<BTreeMap<String, Value>> for Extra {
    type Error = ExtraError;

    fn try_from(fields: BTreeMap<String, Value>) -> Result<Self, ExtraError> {
        if let Some(name) = fields.keys().find(|it| LAUNCHER_FIELDS.contains(&it.as_str())) {
            return Err(ExtraError::Reserved { name: name.clone() });
        }
        let found = fields.iter().map(|(name, value)| name.len() + value.to_string().len()).sum();
        if found > MAX_EXTRA_BYTES {
            return Err(ExtraError::TooLong { found });
        }
        Ok(Extra(fields))
    }
}

impl From<Extra> for BTreeMap<String, Value> {
    fn from(extra: Extra) -> Self {
        extra.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: Result<&str, &str>) {
        let read = serde_json::from_str::<Sampling>(json).map(|it| serde_json::to_string(&it).unwrap());
        let error = |it: serde_json::Error| it.to_string().split(" at line").next().unwrap().to_owned();
        assert_eq!(read.map_err(error), expected.map(str::to_owned).map_err(str::to_owned), "{json}");
    }

    #[test]
    fn what_is_left_out_stays_out() {
        check("{}", Ok(r#"{"ignoreEos":false}"#));
        check(r#"{"ignoreEos":true,"lengthField":"maxTokens","extra":{}}"#, Ok(r#"{"ignoreEos":true}"#));
        let all = r#"{"ignoreEos":true,"minTokens":7,"lengthField":"maxCompletionTokens","extra":{"stop":["a"],"temperature":0.5}}"#;
        check(all, Ok(all));
    }

    #[test]
    fn a_prompt_has_one_answer_unless_n_asks_for_more() {
        for (extra, choices) in [("{}", 1), (r#"{"n":3}"#, 3), (r#"{"n":0}"#, 1), (r#"{"n":"x"}"#, 1)] {
            let sampling: Sampling = serde_json::from_str(&format!(r#"{{"extra":{extra}}}"#)).unwrap();
            assert_eq!(sampling.choices(), choices, "{extra}");
        }
    }

    #[test]
    fn a_field_that_the_launcher_writes_is_refused() {
        check(r#"{"extra":{"stream":false}}"#, Err("stream is a field that the launcher writes itself; take it out"));
        let long = format!(r#"{{"extra":{{"stop":"{}"}}}}"#, "a".repeat(MAX_EXTRA_BYTES));
        check(&long, Err("the fields have 65542 bytes, and 65536 are sent at most; take some out"));
    }
}
