//! A value in any form that users write: `1024`, `0.05`, `true` or `"1024"`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A value of any type. Deserialization never fails, so that every stored object stays readable. The code that uses the value checks its
/// type.
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

/// The longest text, in characters.
pub const MAX_TEXT_CHARS: u32 = 1024;

/// What the API server accepts: a string, a number or a boolean. A schema has no type for "one of these". The size bounds of lists and
/// mappings apply without a type, and exclude both. A value nested more deeply than the operator's JSON reader allows would make the list
/// of all runs unreadable.
#[cfg(feature = "kube")]
impl schemars::JsonSchema for AnyValue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyValue".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "x-kubernetes-preserve-unknown-fields": true,
            // Excludes lists and mappings: none can have at most 0 members and at least 1.
            "maxItems": 0,
            "minItems": 1,
            "maxProperties": 0,
            "minProperties": 1,
            "maxLength": MAX_TEXT_CHARS,
        })
    }
}

/// A share: a number from 0 to 1, or a text that is one.
#[cfg(feature = "kube")]
pub(crate) fn share(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    number_or_text(Some(1), 12, crate::patterns::SHARE).try_into().expect("a schema is a mapping")
}

/// The limit of an objective: a duration, or a number that is not below zero.
#[cfg(feature = "kube")]
pub(crate) fn limit(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    number_or_text(None, crate::patterns::MAX_LIMIT, crate::patterns::LIMIT).try_into().expect("a schema is a mapping")
}

/// A number from 1 to 1024, or Auto.
#[cfg(feature = "kube")]
pub(crate) fn auto_or_count(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let mut schema = number_or_text(Some(1024), 4, crate::patterns::AUTO_OR_COUNT);
    schema["minimum"] = 1.into();
    schema.try_into().expect("a schema is a mapping")
}

/// A price: a number from 0 to a million, or a text that is one.
#[cfg(feature = "kube")]
pub(crate) fn price(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    number_or_text(Some(1_000_000), 16, crate::patterns::PRICE).try_into().expect("a schema is a mapping")
}

/// A Kubernetes quantity that is not below zero: `2`, `0.5`, `500m`, `1Gi`.
#[cfg(feature = "kube")]
pub(crate) fn quantity(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    quantity_schema().try_into().expect("a schema is a mapping")
}

/// The same as JSON.
#[cfg(feature = "kube")]
pub(crate) fn quantity_schema() -> Value {
    number_or_text(None, crate::patterns::MAX_QUANTITY, crate::patterns::QUANTITY)
}

/// A number from 0, or a string that matches a pattern. `x-kubernetes-int-or-string` would refuse a fraction such as `cpu: 0.5`, which a
/// pod accepts.
#[cfg(feature = "kube")]
fn number_or_text(maximum: Option<u32>, max_length: u32, pattern: &str) -> Value {
    let mut schema = serde_json::json!({
        "x-kubernetes-preserve-unknown-fields": true,
        // Excludes lists and mappings: none can have at most 0 members and at least 1.
        "maxItems": 0,
        "minItems": 1,
        "maxProperties": 0,
        "minProperties": 1,
        "minimum": 0,
        "maxLength": max_length,
        "pattern": pattern,
        "not": {"enum": [true, false]},
    });
    if let Some(maximum) = maximum {
        schema["maximum"] = maximum.into();
    }
    schema
}
