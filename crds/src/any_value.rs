//! A value that users write as it comes to them: `1024`, `0.05`, `true` or `"1024"`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A value of any type. It reads whatever a user wrote, so that no object makes the operator stumble; what takes its value
/// says which types it knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AnyValue(pub Value);

impl AnyValue {
    /// The value as text: a text as it is, all else as JSON.
    pub fn text(&self) -> String {
        match &self.0 {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// A number, or a text that is one.
    pub fn number(&self) -> Option<f64> {
        match &self.0 {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok().filter(|it: &f64| it.is_finite()),
            _ => None,
        }
    }
}

/// Values by name, as text.
pub fn texts(values: &BTreeMap<String, AnyValue>) -> BTreeMap<String, String> {
    values.iter().map(|(name, value)| (name.clone(), value.text())).collect()
}

impl From<&str> for AnyValue {
    fn from(text: &str) -> Self {
        AnyValue(text.into())
    }
}

impl From<String> for AnyValue {
    fn from(text: String) -> Self {
        AnyValue(text.into())
    }
}

impl From<f64> for AnyValue {
    fn from(number: f64) -> Self {
        AnyValue(number.into())
    }
}

/// The longest text, in characters.
pub const MAX_TEXT_CHARS: u32 = 1024;

/// What the API server admits: a text, a number or a boolean. It knows no type that is one of these; but the bounds of a list
/// and of a mapping apply without a type as well, and keep both out. A value that is nested more deeply than the JSON reader of
/// the operator goes would make the list of all runs unreadable.
#[cfg(feature = "kube")]
impl schemars::JsonSchema for AnyValue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyValue".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "x-kubernetes-preserve-unknown-fields": true,
            "maxItems": 0,
            "maxProperties": 0,
            "maxLength": MAX_TEXT_CHARS,
        })
    }
}

/// A share: a number from 0 to 1, or a text that is one.
#[cfg(feature = "kube")]
pub(crate) fn share(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "x-kubernetes-preserve-unknown-fields": true,
        "maxItems": 0,
        "maxProperties": 0,
        "minimum": 0,
        "maximum": 1,
        "maxLength": 12,
        "pattern": crate::schema::SHARE,
    })
}
