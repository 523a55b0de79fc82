//! Redacts secrets in quoted log lines and in the arguments of an engine.

use std::borrow::Cow;

pub(crate) use crds::secrets::redact as text;
use crds::{
    resolve::{REDACTED, is_secret_name},
    wording::one_line,
};
use serde_json::{Map, Value};

/// Maximum bytes of a quoted log line.
pub(crate) const MAX_QUOTE: usize = 400;

/// Prepares a log line for output: one line, without secrets, and at most [`MAX_QUOTE`] bytes.
pub(crate) fn quote(line: &str) -> String {
    let clean = one_line(&text(line));
    crate::line::cut(clean.trim(), MAX_QUOTE).to_owned()
}

/// Redacts the secrets in arguments of an engine.
pub(crate) fn map(map: &mut Map<String, Value>) {
    for (key, value) in map {
        if is_secret_name(key) { cover(value) } else { redact(value) }
    }
}

fn redact(value: &mut Value) {
    match value {
        Value::Object(entries) => map(entries),
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::String(it) => {
            if let Cow::Owned(clean) = text(it) {
                *it = clean;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Redacts a value with a name that belongs to a secret. Booleans and empty values stay.
fn cover(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::String(text) if text.is_empty() => {}
        Value::Array(items) if items.is_empty() => {}
        other => *other = Value::String(REDACTED.into()),
    }
}
