//! A value that users can write as a string, number or boolean: `1024`, `0.05`, `true` or `"1024"`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A value of any type. Deserialization never fails, so that every stored object stays readable. The code that uses the value checks its
/// type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AnyValue(pub Value);

impl AnyValue {
    /// The value as text: a string unchanged, every other value as JSON.
    pub fn text(&self) -> String {
        match &self.0 {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// Converts all values to text.
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

/// Maximum length of a string value, in characters.
pub const MAX_TEXT_CHARS: u32 = 1024;

/// The API server accepts a string, a number or a boolean. An OpenAPI schema has no type for such a union, so the schema sets no type. It sets
/// `minItems` and `minProperties` above `maxItems` and `maxProperties`, which rejects all lists and mappings. They must be rejected because a value
/// that is nested more deeply than the operator's JSON reader allows would make the list of all runs unreadable.
#[cfg(feature = "kube")]
impl schemars::JsonSchema for AnyValue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyValue".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "x-kubernetes-preserve-unknown-fields": true,
            // Rejects lists and mappings: none has at least 1 and at most 0 members.
            "maxItems": 0,
            "minItems": 1,
            "maxProperties": 0,
            "minProperties": 1,
            "maxLength": MAX_TEXT_CHARS,
        })
    }
}

/// Schema of a share: a number from 0 to 1, or a string with such a number.
#[cfg(feature = "kube")]
pub(crate) fn share(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    number_or_text(Some(1), 12, crate::patterns::SHARE).try_into().expect("a schema is a mapping")
}

/// Schema of an objective's limit: a duration, or a number of at least 0.
#[cfg(feature = "kube")]
pub(crate) fn limit(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    number_or_text(None, crate::patterns::MAX_LIMIT, crate::patterns::LIMIT).try_into().expect("a schema is a mapping")
}

/// Schema of a number from 1 to 1024, or `Auto`.
#[cfg(feature = "kube")]
pub(crate) fn auto_or_count(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let mut schema = number_or_text(Some(1024), 4, crate::patterns::AUTO_OR_COUNT);
    schema["minimum"] = 1.into();
    schema.try_into().expect("a schema is a mapping")
}

/// Schema of a price: a number from 0 to 1,000,000, or a string with such a number.
#[cfg(feature = "kube")]
pub(crate) fn price(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    number_or_text(Some(1_000_000), 16, crate::patterns::PRICE).try_into().expect("a schema is a mapping")
}

/// Schema of a Kubernetes quantity of at least 0: `2`, `0.5`, `500m`, `1Gi`.
#[cfg(feature = "kube")]
pub(crate) fn quantity(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    quantity_schema().try_into().expect("a schema is a mapping")
}

/// The schema of [`quantity`] as JSON.
#[cfg(feature = "kube")]
pub(crate) fn quantity_schema() -> Value {
    number_or_text(None, crate::patterns::MAX_QUANTITY, crate::patterns::QUANTITY)
}

/// Schema of a number of at least 0, or a string that matches a pattern. `x-kubernetes-int-or-string` is not used because it refuses a fraction
/// such as `cpu: 0.5`, which a pod accepts.
#[cfg(feature = "kube")]
fn number_or_text(maximum: Option<u32>, max_length: u32, pattern: &str) -> Value {
    let mut schema = serde_json::json!({
        "x-kubernetes-preserve-unknown-fields": true,
        // Rejects lists and mappings: none has at least 1 and at most 0 members.
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
