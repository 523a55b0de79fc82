//! Readers for values that occur in several parts of a scenario.

use serde_json::Value;

pub(super) use crate::formats::common::times::span;
use crate::{
    formats::common::bounds::MAX_STAGES,
    reader::{Section, described},
    yaml,
};

/// Reads a number or a list of numbers, possibly as JSON text. `None` if the key is absent or wrong.
pub(super) fn numbers(
    section: &Section,
    key: &'static str,
    wanted: &str,
    accepted: impl Fn(f64) -> bool,
) -> Option<Vec<f64>> {
    let value = section.value(key)?;
    let parsed = value.as_str().filter(|it| it.trim_start().starts_with('[')).and_then(|it| yaml::read(it).ok());
    let value = parsed.as_ref().unwrap_or(value);
    let items: &[Value] = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    if items.is_empty() || items.len() > MAX_STAGES {
        section.problem(key, format!("holds {} values; write 1 to {MAX_STAGES}", items.len()));
        return None;
    }
    let mut numbers = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let number = item.as_f64().or_else(|| yaml::decimal(item.as_str()?.trim()));
        match number.filter(|it| it.is_finite() && accepted(*it)) {
            Some(number) => numbers.push(number),
            None => {
                let place = if value.is_array() { format!("{key}[{at}]") } else { key.to_owned() };
                section.problem(&place, format!("is {}; write {wanted}", described(item)));
            }
        }
    }
    (numbers.len() == items.len()).then_some(numbers)
}

/// Reads whole numbers from 1 to `most`, like [`numbers`].
pub(super) fn counts(section: &Section, key: &'static str, most: u64) -> Option<Vec<u64>> {
    let wanted = format!("a whole number from 1 to {most}");
    let numbers = numbers(section, key, &wanted, |it| it.fract() == 0.0 && it >= 1.0 && it <= most as f64)?;
    // The casts are exact, because all bounds are far below 2^53.
    Some(numbers.into_iter().map(|it| it as u64).collect())
}

/// Whether a key is explicitly null, which for some keys differs from absent.
pub(super) fn is_null(section: &Section, key: &str) -> bool {
    section.entries().any(|(it, value)| it == key && value.is_null())
}

/// The message for a feature of GuideLLM that this engine does not support.
pub(super) fn unsupported(what: &str, remedy: &str) -> String {
    format!("is {what}, which GuideLLM supports and this engine does not; {remedy}")
}
