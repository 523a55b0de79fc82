//! Determines how kubectl's reader, which follows YAML 1.1, interprets an unquoted word.

use serde_json::{Number, Value};

/// The interpretation of an unquoted word.
pub(super) enum Reading {
    /// A value on which YAML 1.1 and 1.2 agree. Also a boolean that only YAML 1.1 knows, which keeps its spelling.
    Value(Value),
    /// A number whose value depends on the YAML version: it is not written in plain decimal digits, or it has leading zeros.
    TwoWays {
        /// The value that kubectl reads.
        kubectl: String,
    },
    /// An infinite number or NaN, which JSON does not support.
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

/// Converts a float like kubectl, which writes a whole number such as 1e3 or 60.0 as 1000 or 60, so that every JSON reader accepts it as an integer.
fn number(value: f64) -> Option<Number> {
    // 2^63, the first number that exceeds an i64, and 2^64.
    const BEYOND_SIGNED: f64 = 9_223_372_036_854_775_808.0;
    const BEYOND_UNSIGNED: f64 = 18_446_744_073_709_551_616.0;
    match value.fract() == 0.0 {
        true if (-BEYOND_SIGNED..BEYOND_SIGNED).contains(&value) => Some(Number::from(value as i64)),
        true if (BEYOND_SIGNED..BEYOND_UNSIGNED).contains(&value) => Some(Number::from(value as u64)),
        _ => Number::from_f64(value),
    }
}

/// Whether a text is a decimal number: `1`, `-1.5`, `.5`, `1.`, `1e3`.
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

/// The value that kubectl reads for a number in an unusual notation: `010`, `0x10`, `1_000`. `None` for any other text.
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
