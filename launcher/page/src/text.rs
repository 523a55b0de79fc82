//! Formats figures for a page.

use std::fmt::Display;

use crds::benchmark_run::Stat;
use figures::Figure;

pub(crate) use figures::text::{
    brief::{bound, number as three, range as interval, short, time as duration, times as durations},
    listed,
    page::{NOTHING, count, money, number, numbers, optional, time, times},
    percentile, percents, signed_percent,
};

/// A time of day with seconds, such as `2026-01-02 03:04:05 UTC`.
pub(crate) fn second(at: impl Display) -> String {
    let seconds: String = at.to_string().chars().take("2026-01-02T03:04:05".len()).collect();
    format!("{} UTC", seconds.replace('T', " "))
}

/// A time of day without seconds, such as `2 Jan 2026, 03:04 UTC`.
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

/// A duration given in milliseconds, such as `2 min 20 s`. Durations below a minute are formatted like any other time.
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

/// The text with its first letter in upper case.
pub(crate) fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |it| it.to_uppercase().chain(letters).collect())
}

/// The name of a figure for headings: `TTFT`, `Output tokens/s`.
pub(crate) fn heading(figure: Figure) -> String {
    capitalized(&figure.label())
}

/// The name of a statistic for headings: `Latency p99`.
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
    fn a_moment_and_a_length_are_short() {
        assert_eq!(minute("2026-01-02T03:04:05Z"), "2 Jan 2026, 03:04 UTC");
        let found = [12_500.0, 140_000.0, 120_000.0, 3_725_000.0].map(length);
        assert_eq!(
            found,
            ["12.5 s", "2 min 20 s", "2 min", "1 h 2 min"]
                .map(|it| it.replace(' ', "\u{a0}"))
                .map(|it| it.replacen("min\u{a0}", "min ", 1).replacen("h\u{a0}", "h ", 1))
        );
    }

    #[test]
    fn one_thing_has_another_word_than_several() {
        assert_eq!((plural(1, "stage"), plural(2, "stage")), ("1 stage".to_owned(), "2 stages".to_owned()));
    }
}
