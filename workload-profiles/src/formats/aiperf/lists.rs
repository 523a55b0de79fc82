//! Flags that contain a number, or a list of numbers with one run per number.

use std::ops::RangeInclusive;

use crate::{problem::quoted, reader::Section, yaml::decimal};

/// Maximum values of a list.
const MAX_VALUES: usize = 100;

/// Reads the numbers of a flag. Empty if the flag is absent. Returns `None` if a problem was reported.
pub(super) fn numbers(section: &Section, key: &'static str, range: RangeInclusive<f64>) -> Option<Vec<f64>> {
    if section.value(key).is_none() {
        return Some(Vec::new());
    }
    let words = section.list(key)?;
    if words.len() > MAX_VALUES {
        section.problem(key, format!("holds {} values; write at most {MAX_VALUES}", words.len()));
        return None;
    }
    let mut numbers = Vec::with_capacity(words.len());
    for (_, word) in &words {
        let text = word.as_str().unwrap_or_default();
        let Some(number) = decimal(text).filter(|it| range.contains(it)) else {
            section
                .problem(key, format!("is {}; write a number from {} to {}", quoted(text), range.start(), range.end()));
            return None;
        };
        numbers.push(number);
    }
    Some(numbers)
}

/// Reads whole numbers, like [`numbers`].
pub(super) fn counts(section: &Section, key: &'static str, range: RangeInclusive<u32>) -> Option<Vec<u32>> {
    let numbers = numbers(section, key, f64::from(*range.start())..=f64::from(*range.end()))?;
    if let Some(broken) = numbers.iter().find(|it| it.fract() != 0.0) {
        section.problem(key, format!("is {broken}; write a whole number"));
        return None;
    }
    Some(numbers.into_iter().map(|it| it as u32).collect())
}

/// Reads one number. Reports a problem for a list of several numbers. `Some(None)` if the flag is absent.
pub(super) fn one(section: &Section, key: &'static str, range: RangeInclusive<f64>) -> Option<Option<f64>> {
    let numbers = numbers(section, key, range)?;
    if numbers.len() > 1 {
        section.problem(
            key,
            "is a list, which is supported for concurrency and request-rate only; write a profile for each value",
        );
        return None;
    }
    Some(numbers.first().copied())
}
