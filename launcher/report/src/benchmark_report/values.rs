//! Converts values to the format's representation.

use std::time::Duration;

use analysis::Distribution;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

/// The name of the server in the report's stack. The server is the only part of the stack.
pub(super) const STACK_LABEL: &str = "target";

pub(super) fn insert(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        map.insert(key.into(), value);
    }
}

pub(super) fn statistics(units: &str, of: &Distribution<f64>) -> Value {
    let figures = of.entries().into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
    Value::Object([("units".to_owned(), json!(units))].into_iter().chain(figures).collect())
}

/// Converts from whole nanoseconds, so that 81.234567 ms is written as 0.081234567.
pub(super) fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}

/// The wall-clock time at an offset from the start of the run.
pub(super) fn at(zero: Timestamp, offset: Duration) -> Option<String> {
    let time = zero.checked_add(SignedDuration::try_from(offset).ok()?).ok()?;
    Some(time.to_string())
}
