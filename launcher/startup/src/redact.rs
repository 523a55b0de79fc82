//! Blacks out secrets in what is quoted of a log, and in the arguments of an engine.

use std::borrow::Cow;

pub(crate) use crds::secrets::redact as text;
use crds::{
    resolve::{REDACTED, is_secret_name},
    wording::one_line,
};
use serde_json::{Map, Value};

/// Bytes of a line that are quoted.
pub(crate) const MAX_QUOTE: usize = 400;

/// A line of a log as it is shown: on one line, without secrets, and of at most [`MAX_QUOTE`] bytes.
pub(crate) fn quote(line: &str) -> String {
    let clean = one_line(&text(line));
    crate::line::cut(clean.trim(), MAX_QUOTE).to_owned()
}

/// Blacks out the secrets in arguments of an engine.
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

/// Covers what stands under the name of a secret. A switch is none, and what is empty has nothing to hide.
fn cover(value: &mut Value) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::String(text) if text.is_empty() => {}
        Value::Array(items) if items.is_empty() => {}
        other => *other = Value::String(REDACTED.into()),
    }
}
