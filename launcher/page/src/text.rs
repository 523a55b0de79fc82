//! Figures as shown on a page.

use std::fmt::Display;

use crds::benchmark_run::Stat;
use figures::Figure;

pub(crate) use figures::text::{
    page::{NOTHING, count, money, number, numbers, optional, time, times},
    percentile, percents, signed_percent,
};

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
