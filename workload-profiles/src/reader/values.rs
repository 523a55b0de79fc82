//! Single values: how messages show them, and how they are read.

use serde_json::Value;

use crate::{
    problem::{named, quoted},
    yaml::decimal,
};

/// The type of a value. Used for keys that have no effect: only their type is checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ValueType {
    Bool,
    Number,
    Text,
    List,
    Mapping,
}

impl ValueType {
    pub(super) fn fits(self, value: &Value) -> bool {
        match self {
            ValueType::Bool => as_bool(value).is_some(),
            ValueType::Number => as_number(value).is_some(),
            ValueType::Text => value.is_string(),
            ValueType::List => value.is_array(),
            ValueType::Mapping => value.is_object(),
        }
    }

    /// The type's name in a remedy that requires this type.
    pub(super) fn name(self) -> &'static str {
        match self {
            ValueType::Bool => "true or false",
            ValueType::Number => "a number",
            ValueType::Text => "a text",
            ValueType::List => "a list",
            ValueType::Mapping => "a mapping",
        }
    }
}

/// Describes a value for a message.
pub(crate) fn described(value: &Value) -> String {
    match value {
        Value::Null => "empty".to_owned(),
        Value::Bool(it) => it.to_string(),
        Value::Number(it) => it.to_string(),
        Value::String(it) => quoted(it),
        Value::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Value::Array(items) => format!("a list of length {}", items.len()),
        Value::Object(entries) if entries.is_empty() => "an empty mapping".to_owned(),
        Value::Object(entries) => {
            let keys: Vec<String> = entries.keys().take(3).map(|it| named(it)).collect();
            let (word, more) =
                (if entries.len() == 1 { "key" } else { "keys" }, if entries.len() > 3 { ", ..." } else { "" });
            format!("a mapping with the {word} {}{more}", keys.join(", "))
        }
    }
}

/// The name of a value's type, for messages that must not contain the value itself.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

pub(super) fn as_bool(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(it) => Some(*it),
        // Words that are booleans in YAML 1.1. The Python tools accept them.
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a finite number, with or without quotes, because the Python tools accept both.
pub(super) fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(it) => it.as_f64().filter(|it| it.is_finite()),
        Value::String(text) => decimal(text.trim()),
        _ => None,
    }
}
