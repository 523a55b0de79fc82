//! Figures as shown on a page.

use std::fmt::Display;

use crds::benchmark_run::Stat;
use figures::{Figure, text::Style};

pub(crate) use figures::text::{percentile, percents, signed_percent};

/// The style of figures on a page.
const STYLE: Style = Style::Page;
/// The sign for a figure that was not measured.
pub(crate) const NOTHING: &str = STYLE.nothing();

/// A time in milliseconds in the unit that fits: `812 µs`, `81.23 ms`, `12.5 s`.
pub(crate) fn time(millis: f64) -> String {
    STYLE.time(millis)
}

/// A range of times: `79.9 to 83 ms`.
pub(crate) fn times(low: f64, high: f64) -> String {
    STYLE.times(low, high)
}

/// A rate or a quantity.
pub(crate) fn number(value: f64) -> String {
    STYLE.number(value)
}

/// A range of rates or quantities.
pub(crate) fn numbers(low: f64, high: f64) -> String {
    STYLE.numbers(low, high)
}

/// An amount of money.
pub(crate) fn money(amount: f64, currency: &str) -> String {
    STYLE.money(amount, currency)
}

/// A count.
pub(crate) fn count(value: u64) -> String {
    STYLE.count(value)
}

pub(crate) fn optional<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    STYLE.optional(value, show)
}

/// A moment to the second, such as `2026-01-02 03:04:05 UTC`.
pub(crate) fn second(at: impl Display) -> String {
    let seconds: String = at.to_string().chars().take("2026-01-02T03:04:05".len()).collect();
    format!("{} UTC", seconds.replace('T', " "))
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
    fn one_thing_has_another_word_than_several() {
        assert_eq!((plural(1, "stage"), plural(2, "stage")), ("1 stage".to_owned(), "2 stages".to_owned()));
    }
}
