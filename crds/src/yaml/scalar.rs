//! How kubectl's reader, which follows YAML 1.1, interprets an unquoted word.

use serde_json::{Number, Value};

/// An unquoted word.
pub(super) enum Reading {
    /// Both versions of YAML agree on its value, or it is a YAML 1.1 boolean, stored together with its spelling.
    Value(Value),
    /// A number that is not written in plain decimal digits, or that has leading zeros.
    TwoWays {
        /// How kubectl reads it.
        kubectl: String,
    },
    /// No number of JSON.
    NotFinite,
}

pub(super) fn read(text: &str) -> Reading {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Reading::Value(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Reading::Value(Value::Bool(true));
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Reading::Value(Value::Bool(false));
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf"
        | "-.INF" => return Reading::NotFinite,
        _ => {}
    }
    if let Some(kubectl) = in_two_ways(text) {
        return Reading::TwoWays { kubectl };
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    let integer =
        || unsigned.parse::<i64>().map(Number::from).or_else(|_| unsigned.parse::<u64>().map(Number::from)).ok();
    if !is_decimal(text) {
        return Reading::Value(Value::String(text.to_owned()));
    }
    match integer() {
        Some(number) => Reading::Value(Value::Number(number)),
        None => match text.parse().ok().and_then(number) {
            Some(number) => Reading::Value(Value::Number(number)),
            None => Reading::NotFinite,
        },
    }
}

/// kubectl writes a whole number such as 1e3 or 60.0 as 1000 or 60, which every JSON reader accepts as an integer.
fn number(value: f64) -> Option<Number> {
    // 2^63, the first number beyond an i64, and 2^64.
    const BEYOND_SIGNED: f64 = 9_223_372_036_854_775_808.0;
    const BEYOND_UNSIGNED: f64 = 18_446_744_073_709_551_616.0;
    match value.fract() == 0.0 {
        true if (-BEYOND_SIGNED..BEYOND_SIGNED).contains(&value) => Some(Number::from(value as i64)),
        true if (BEYOND_SIGNED..BEYOND_UNSIGNED).contains(&value) => Some(Number::from(value as u64)),
        _ => Number::from_f64(value),
    }
}

/// `1`, `-1.5`, `.5`, `1.`, `1e3`.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (unsigned, "0"),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |it: &str| it.bytes().all(|it| it.is_ascii_digit());
    let some = !whole.is_empty() || (number.contains('.') && !fraction.is_empty());
    some && digits(whole) && digits(fraction) && !exponent.is_empty() && digits(exponent)
}

/// How kubectl reads a number in an unusual notation: `010`, `0x10`, `1_000`.
fn in_two_ways(text: &str) -> Option<String> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { "-" } else { "" };
    if !unsigned.starts_with(|it: char| it.is_ascii_digit()) {
        return None;
    }
    let plain: String = unsigned.chars().filter(|it| *it != '_').collect();
    let odd = plain.len() != unsigned.len()
        || (plain.len() > 1 && plain.starts_with('0') && !plain[1..].starts_with(['.', 'e', 'E']));
    if !odd {
        return None;
    }
    let lower = plain.to_ascii_lowercase();
    let based = [("0x", 16), ("0o", 8), ("0b", 2), ("0", 8)]
        .into_iter()
        .find_map(|(prefix, base)| u64::from_str_radix(lower.strip_prefix(prefix)?, base).ok());
    let whole = based.or_else(|| plain.parse::<u64>().ok()).map(|it| it.to_string());
    let fraction = || is_decimal(&plain).then(|| plain.parse::<f64>().ok()).flatten().map(|it| it.to_string());
    whole.or_else(fraction).map(|it| format!("{sign}{it}"))
}
