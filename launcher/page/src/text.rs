//! Figures as a page shows them.

use std::fmt::Display;

use crds::{benchmark_run::Stat, figure::rate_text, wording::percent};
use figures::Figure;

/// What stands where nothing was measured.
pub(crate) const NOTHING: &str = "–";

/// A time in the unit that fits: `812 µs`, `81.23 ms`, `12.5 s`. No line breaks before the unit.
pub(crate) fn time(millis: f64) -> String {
    let (per_milli, unit) = time_unit(millis);
    format!("{}\u{a0}{unit}", signed(millis * per_milli))
}

/// From a time to another one, each in the unit that fits: `79.9 to 83 ms`, `92.97 ms to 10.07 s`.
pub(crate) fn times(low: f64, high: f64) -> String {
    let (per_milli, unit) = time_unit(high);
    if low != 0.0 && time_unit(low).1 != unit {
        return format!("{} to {}", time(low), time(high));
    }
    format!("{} to {}\u{a0}{unit}", signed(low * per_milli), signed(high * per_milli))
}

/// A moment to the second, such as `2026-01-02 03:04:05 UTC`.
pub(crate) fn second(at: impl Display) -> String {
    let seconds: String = at.to_string().chars().take("2026-01-02T03:04:05".len()).collect();
    format!("{} UTC", seconds.replace('T', " "))
}

/// The words with a capital letter at their beginning.
pub(crate) fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |it| it.to_uppercase().chain(letters).collect())
}

/// A figure as headings have it: `TTFT`, `Output tokens/s`.
pub(crate) fn heading(figure: Figure) -> String {
    capitalized(&figure.label())
}

/// One statistic of a figure as headings have it: `Latency p99`.
pub(crate) fn heading_of(figure: Figure, stat: Stat) -> String {
    capitalized(&figure.titled(stat))
}

/// How many of the unit are a millisecond, and its name.
fn time_unit(millis: f64) -> (f64, &'static str) {
    match millis.abs() {
        it if it >= 10_000.0 => (1e-3, "s"),
        it if it >= 1.0 || it == 0.0 => (1.0, "ms"),
        _ => (1e3, "µs"),
    }
}

/// A rate or a quantity to four digits, with separators of thousands.
pub(crate) fn number(value: f64) -> String {
    if value.abs() >= 10_000.0 { separated(&signed(value)) } else { signed(value) }
}

/// A count with separators of thousands.
pub(crate) fn count(value: u64) -> String {
    separated(&value.to_string())
}

pub(crate) fn optional<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| NOTHING.to_owned(), show)
}

/// From a rate or a quantity to another one.
pub(crate) fn numbers(low: f64, high: f64) -> String {
    format!("{} to {}", number(low), number(high))
}

/// From a share to another one.
pub(crate) fn percents(low: f64, high: f64) -> String {
    format!("{} to {}", percent(low).trim_end_matches(" %"), percent(high))
}

/// One thing or several: `1 stage`, `3 stages`.
pub(crate) fn plural(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", count(number))
}

fn signed(value: f64) -> String {
    if value < 0.0 { format!("-{}", rate_text(-value)) } else { rate_text(value) }
}

/// Commas between groups of three digits of a decimal number.
fn separated(number: &str) -> String {
    let (sign, number) = number.strip_prefix('-').map_or(("", number), |it| ("-", it));
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(whole, rest)| (whole, Some(rest)));
    let mut text = sign.to_owned();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_a_unit_and_separators() {
        for (millis, expected) in [
            (0.0, "0 ms"),
            (0.812, "812 µs"),
            (81.234, "81.23 ms"),
            (9_999.0, "9999 ms"),
            (12_500.0, "12.5 s"),
            (-3.0, "-3 ms"),
        ] {
            assert_eq!(time(millis), expected.replace(' ', "\u{a0}"));
        }
        assert_eq!(
            [times(92.97, 10_070.0), times(79.9, 83.0), times(0.0, 12_500.0)],
            ["92.97\u{a0}ms to 10.07\u{a0}s", "79.9 to 83\u{a0}ms", "0 to 12.5\u{a0}s"].map(str::to_owned)
        );
        assert_eq!((number(12_345.6), number(1_234.6)), ("12,346".to_owned(), "1235".to_owned()));
        assert_eq!((count(12_345), count(999), count(0)), ("12,345".to_owned(), "999".to_owned(), "0".to_owned()));
        assert_eq!((plural(1, "stage"), plural(2, "stage")), ("1 stage".to_owned(), "2 stages".to_owned()));
    }
}
