//! Formats figures as text for all renderers. Numbers have four significant digits; in sentences and on the page of a run, they have three.

use crds::{figure::rate_text, wording::percent};

/// The suffix of a percentile that equals the largest value because there are too few values.
pub const LARGEST: &str = "*";

/// Plain text for a terminal and for Markdown, such as `81.23ms`, `12345` or `-`. Values are never below zero.
pub mod plain {
    use crds::units::Span;

    pub use crds::figure::rate_text as number;

    /// The text for a figure that was not measured.
    pub const NOTHING: &str = "-";

    /// A value as text; [`NOTHING`] if it is absent.
    pub fn optional<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
        value.map_or_else(|| NOTHING.to_owned(), show)
    }

    /// A time in milliseconds, shown in a suitable unit. A time below zero, such as the lower end of an interval, is shown as 0.
    pub fn time(millis: f64) -> String {
        let not_negative = if millis < 0.0 { 0.0 } else { millis };
        optional(Span::from_millis_f64(not_negative), |it| it.rounded().to_string())
    }

    /// An amount of money, such as `2.5 USD`.
    pub fn money(amount: f64, currency: &str) -> String {
        format!("{} {currency}", number(amount))
    }
}

/// Text for HTML, such as `81.23 ms` (with a non-breaking space), `12,345` or `–`.
pub mod page {
    use super::{separated, signed, time_unit};

    /// The text for a figure that was not measured.
    pub const NOTHING: &str = "–";

    /// A value as text; [`NOTHING`] if it is absent.
    pub fn optional<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
        value.map_or_else(|| NOTHING.to_owned(), show)
    }

    /// A time in milliseconds, shown in a suitable unit: `812 µs`, `81.23 ms`, `12.5 s`.
    pub fn time(millis: f64) -> String {
        let (per_milli, unit) = time_unit(millis);
        format!("{}\u{a0}{unit}", signed(millis * per_milli))
    }

    /// A range of times in milliseconds. Both ends use the same unit, which is shown once: `79.9 to 83 ms`.
    pub fn times(low: f64, high: f64) -> String {
        let (per_milli, unit) = time_unit(high);
        if low != 0.0 && time_unit(low).1 != unit {
            return format!("{} to {}", time(low), time(high));
        }
        format!("{} to {}\u{a0}{unit}", signed(low * per_milli), signed(high * per_milli))
    }

    /// A rate or a quantity.
    pub fn number(value: f64) -> String {
        if value.abs() >= 10_000.0 { separated(&signed(value)) } else { signed(value) }
    }

    /// A range of rates or quantities.
    pub fn numbers(low: f64, high: f64) -> String {
        format!("{} to {}", number(low), number(high))
    }

    /// An amount of money, such as `2.5 USD`.
    pub fn money(amount: f64, currency: &str) -> String {
        format!("{} {currency}", number(amount))
    }

    /// A whole number.
    pub fn count(value: u64) -> String {
        separated(&value.to_string())
    }
}

/// Short text for HTML and sentences, with three significant digits.
pub mod brief {
    use super::page;

    /// A number with three significant digits, and without decimals from 1,000: `9.24`, `46.0`, `1,649`.
    pub fn number(value: f64) -> String {
        digits(value, 3)
    }

    /// Like [`number`], but without zeros at the end: `8`, `9.24`, `1,649`.
    pub fn short(value: f64) -> String {
        let text = number(value);
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    }

    /// A time in milliseconds with three significant digits: `812 µs`, `69.8 ms`, `2.53 s`.
    pub fn time(millis: f64) -> String {
        let (factor, unit) = time_unit(millis);
        format!("{}\u{a0}{unit}", number(millis * factor))
    }

    /// A time in milliseconds without zeros at the end, as a user writes a limit: `10 ms`, `1 s`.
    pub fn bound(millis: f64) -> String {
        let (factor, unit) = time_unit(millis);
        format!("{}\u{a0}{unit}", short(millis * factor))
    }

    /// A range of times in milliseconds, in the unit that suits the upper end: `50.7 to 70.9 ms`.
    pub fn times(low: f64, high: f64) -> String {
        let (factor, unit) = time_unit(high);
        format!("{}\u{a0}{unit}", range(low * factor, high * factor))
    }

    fn time_unit(millis: f64) -> (f64, &'static str) {
        match millis.abs() {
            it if it >= 1_000.0 => (1e-3, "s"),
            it if it >= 1.0 || it == 0.0 => (1.0, "ms"),
            _ => (1e3, "µs"),
        }
    }

    /// A range of numbers with three significant digits, or with more if both ends would otherwise look equal: `50.7 to 70.9`, `10.98 to 11.03`.
    pub fn range(low: f64, high: f64) -> String {
        let mut all = (3..=5).map(|most| (digits(low, most), digits(high, most)));
        let apart = all.clone().find(|(low, high)| low != high);
        let (low, high) = apart.or_else(|| all.next_back()).unwrap_or_default();
        if low == high { high } else { format!("{low} to {high}") }
    }

    fn digits(value: f64, most: usize) -> String {
        if value == 0.0 || !value.is_finite() {
            return page::number(value);
        }
        let before = value.abs().log10().floor() as i32 + 1;
        let decimals = usize::try_from(most as i32 - before).unwrap_or(0).min(9);
        let rounded = format!("{:.decimals$}", value.abs());
        let (whole, fraction) = rounded.split_once('.').map_or((rounded.as_str(), ""), |it| it);
        let whole = whole.parse().map_or_else(|_| whole.to_owned(), page::count);
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{}{whole}{point}{fraction}", if value < 0.0 { "-" } else { "" })
    }
}

/// A list as text: `a`, `a and b`, or `a, b and c`.
pub fn listed(parts: &[impl AsRef<str>]) -> String {
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    match parts.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// A range of shares in percent, such as `1 to 2.5 %`.
pub fn percents(low: f64, high: f64) -> String {
    format!("{} to {}", percent(low).trim_end_matches(" %"), percent(high))
}

/// A relative difference in percent with its sign and one decimal place, such as `+1.5 %`.
pub fn signed_percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

/// Returns `text`, which shows the percentile `permille` of `count` values. Appends [`LARGEST`] if the percentile equals the largest value because
/// there are so few values.
pub fn percentile(text: String, permille: u64, count: u64) -> String {
    let is_largest = (u128::from(count) * u128::from(permille)).div_ceil(1_000) >= u128::from(count);
    if is_largest { text + LARGEST } else { text }
}

/// The unit in which to show a time: the number of these units in a millisecond, and the unit's name.
fn time_unit(millis: f64) -> (f64, &'static str) {
    match millis.abs() {
        it if it >= 10_000.0 => (1e-3, "s"),
        it if it >= 1.0 || it == 0.0 => (1.0, "ms"),
        _ => (1e3, "µs"),
    }
}

fn signed(value: f64) -> String {
    if value < 0.0 { format!("-{}", rate_text(-value)) } else { rate_text(value) }
}

/// Puts commas between groups of three digits of a decimal number.
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
    fn figures_of_a_page_have_a_unit_and_separators() {
        for (millis, expected) in [
            (0.0, "0 ms"),
            (0.812, "812 µs"),
            (81.234, "81.23 ms"),
            (9_999.0, "9999 ms"),
            (12_500.0, "12.5 s"),
            (-3.0, "-3 ms"),
        ] {
            assert_eq!(page::time(millis), expected.replace(' ', "\u{a0}"));
        }
        assert_eq!(
            [(92.97, 10_070.0), (79.9, 83.0), (0.0, 12_500.0)].map(|(low, high)| page::times(low, high)),
            ["92.97\u{a0}ms to 10.07\u{a0}s", "79.9 to 83\u{a0}ms", "0 to 12.5\u{a0}s"]
        );
        assert_eq!([12_345.6, 1_234.6].map(page::number), ["12,346", "1235"]);
        assert_eq!([12_345, 999, 0].map(page::count), ["12,345", "999", "0"]);
    }

    #[test]
    fn a_number_has_three_digits_and_is_whole_from_a_thousand() {
        let found = [0.0, 0.6414, 9.2411, 46.0, 186.7, 1_648.9, 12_345.6, -2.5].map(brief::number);
        assert_eq!(found, ["0", "0.641", "9.24", "46.0", "187", "1,649", "12,346", "-2.50"]);
        assert_eq!(brief::range(50.71, 70.92), "50.7 to 70.9");
        assert_eq!(brief::range(10.98, 11.03), "10.98 to 11.03");
    }

    #[test]
    fn parts_are_listed_in_a_sentence() {
        let found = [&[][..], &["1"], &["1", "16"], &["1", "16", "32"]].map(listed);
        assert_eq!(found, ["", "1", "1 and 16", "1, 16 and 32"]);
    }

    #[test]
    fn figures_of_a_terminal_are_plain() {
        let times = [0.0, 0.812, 81.234, 12_500.0, -3.0, f64::NAN].map(plain::time);
        assert_eq!(times, ["0s", "812us", "81.23ms", "12.5s", "0s", "-"]);
        assert_eq!(plain::number(12_345.6), "12346");
        assert_eq!(plain::money(2.5, "USD"), "2.5 USD");
    }

    #[test]
    fn shares_and_their_differences_are_percent() {
        assert_eq!((percents(0.01, 0.025), signed_percent(0.015)), ("1 to 2.5 %".into(), "+1.5 %".into()));
    }

    #[test]
    fn a_percentile_of_too_few_values_is_marked() {
        let check = |permille, count, marked| {
            let text = percentile("1s".into(), permille, count);
            assert_eq!((text.contains(LARGEST), text.trim_end_matches('*')), (marked, "1s"), "{permille} of {count}");
        };
        for (permille, enough) in [(900, 10), (950, 20), (990, 100), (999, 1_000)] {
            check(permille, enough - 1, true);
            check(permille, enough, false);
        }
        check(500, 1, true);
        check(500, 2, false);
    }
}
