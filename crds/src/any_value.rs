//! A value that users write as it comes to them: `1024`, `0.05`, `true`, `"1024"` or `[1, 2]`.

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

/// What the API server admits: everything. It knows no type that is a number or a text.
#[cfg(feature = "kube")]
impl schemars::JsonSchema for AnyValue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyValue".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"x-kubernetes-preserve-unknown-fields": true})
    }
}
