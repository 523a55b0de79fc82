//! Figures as shown on a page.

use std::fmt::Display;

use crds::benchmark_run::Stat;
use figures::Figure;

pub(crate) use figures::text::{
    page::{NOTHING, count, money, number, numbers, optional, time, times},
    percentile, percents, signed_percent,
};

/// Three significant digits, whole from 1,000: `9.24`, `46.0`, `1,649`.
pub(crate) fn three(value: f64) -> String {
    digits(value, 3)
}

/// Three significant digits without zeros at the end: `8`, `9.24`, `1,649`.
pub(crate) fn short(value: f64) -> String {
    let text = three(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A time in milliseconds in three significant digits: `812 µs`, `69.8 ms`, `2.53 s`.
pub(crate) fn duration(millis: f64) -> String {
    let (factor, unit) = duration_unit(millis);
    format!("{}\u{a0}{unit}", three(millis * factor))
}

/// A time in milliseconds without zeros at the end, as a user writes a bound: `10 ms`, `1 s`.
pub(crate) fn bound(millis: f64) -> String {
    let (factor, unit) = duration_unit(millis);
    format!("{}\u{a0}{unit}", short(millis * factor))
}

/// A range of times in milliseconds, in the unit of its upper end: `50.7 to 70.9 ms`.
pub(crate) fn durations(low: f64, high: f64) -> String {
    let (factor, unit) = duration_unit(high);
    format!("{}\u{a0}{unit}", interval(low * factor, high * factor))
}

fn duration_unit(millis: f64) -> (f64, &'static str) {
    match millis.abs() {
        it if it >= 1_000.0 => (1e-3, "s"),
        it if it >= 1.0 || it == 0.0 => (1.0, "ms"),
        _ => (1e3, "µs"),
    }
}

/// Both ends in three significant digits, and in more if they read alike: `50.7 to 70.9`, `10.98 to 11.03`.
pub(crate) fn interval(low: f64, high: f64) -> String {
    let mut all = (3..=5).map(|most| (digits(low, most), digits(high, most)));
    let apart = all.clone().find(|(low, high)| low != high);
    let (low, high) = apart.or_else(|| all.next_back()).unwrap_or_default();
    if low == high { high } else { format!("{low} to {high}") }
}

fn digits(value: f64, most: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return number(value);
    }
    let before = value.abs().log10().floor() as i32 + 1;
    let decimals = usize::try_from(most as i32 - before).unwrap_or(0).min(9);
    let rounded = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = rounded.split_once('.').map_or((rounded.as_str(), ""), |it| it);
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{whole}{point}{fraction}", if value < 0.0 { "-" } else { "" })
}

/// A moment to the second, such as `2026-01-02 03:04:05 UTC`.
pub(crate) fn second(at: impl Display) -> String {
    let seconds: String = at.to_string().chars().take("2026-01-02T03:04:05".len()).collect();
    format!("{} UTC", seconds.replace('T', " "))
}

/// A moment to the minute, such as `2 Jan 2026, 03:04 UTC`.
pub(crate) fn minute(at: impl Display) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let at = at.to_string();
    let part = |range: std::ops::Range<usize>| at.get(range).unwrap_or_default();
    let month = part(5..7).parse::<usize>().ok().and_then(|it| MONTHS.get(it.wrapping_sub(1)));
    match month {
        Some(month) => {
            format!("{} {month} {}, {} UTC", part(8..10).trim_start_matches('0'), part(0..4), part(11..16))
        }
        None => second(at),
    }
}

/// A length of time in milliseconds: `2 min 20 s`; shorter than a minute as any time.
pub(crate) fn length(millis: f64) -> String {
    if millis < 60_000.0 {
        return bound(millis);
    }
    let seconds = (millis / 1e3).round() as u64;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let parts = [(hours, "h"), (minutes, "min"), (seconds, "s")];
    let parts: Vec<String> =
        parts.iter().filter(|it| it.0 > 0).take(2).map(|(number, unit)| format!("{number}\u{a0}{unit}")).collect();
    parts.join(" ")
}

/// Names in a sentence: `1, 16 and 32`.
pub(crate) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The words with an initial capital.
pub(crate) fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |it| it.to_uppercase().chain(letters).collect())
}

/// A figure in headings: `TTFT`, `Output tokens/s`.
pub(crate) fn heading(figure: Figure) -> String {
    capitalized(&figure.label())
}

/// One statistic of a figure in headings: `Latency p99`.
pub(crate) fn heading_of(figure: Figure, stat: Stat) -> String {
    capitalized(&figure.titled(stat))
}

/// A number with a noun in singular or plural: `1 stage`, `3 stages`.
pub(crate) fn plural(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_three_digits_and_is_whole_from_a_thousand() {
        let found = [0.0, 0.6414, 9.2411, 46.0, 186.7, 1_648.9, 12_345.6, -2.5].map(three);
        assert_eq!(found, ["0", "0.641", "9.24", "46.0", "187", "1,649", "12,346", "-2.50"]);
        assert_eq!(interval(50.71, 70.92), "50.7 to 70.9");
        assert_eq!(interval(10.98, 11.03), "10.98 to 11.03");
    }

    #[test]
    fn a_moment_and_a_length_are_short() {
        assert_eq!(minute("2026-01-02T03:04:05Z"), "2 Jan 2026, 03:04 UTC");
        let found = [12_500.0, 140_000.0, 120_000.0, 3_725_000.0].map(length);
        assert_eq!(
            found,
            ["12.5 s", "2 min 20 s", "2 min", "1 h 2 min"]
                .map(|it| it.replace(' ', "\u{a0}"))
                .map(|it| it.replacen("min\u{a0}", "min ", 1).replacen("h\u{a0}", "h ", 1))
        );
        assert_eq!(listed(&["1".into(), "16".into(), "32".into()]), "1, 16 and 32");
    }

    #[test]
    fn one_thing_has_another_word_than_several() {
        assert_eq!((plural(1, "stage"), plural(2, "stage")), ("1 stage".to_owned(), "2 stages".to_owned()));
    }
}
