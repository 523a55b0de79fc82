//! The load in the user's answers, and its text form: `rate 2,4,8 isl 512 osl 128 duration 60s`. Pure.

use std::{fmt, time::Duration};

use crds::{
    units::{RequestRate, Span},
    wording::{quoted, suggestion},
};

/// Maximum number of levels. Their list is one text in a BenchmarkRun, whose length is limited.
const MAX_LEVELS: usize = 32;
/// The keywords of a load.
const KEYS: [&str; 5] = ["concurrency", "rate", "isl", "osl", "duration"];

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) levels: Levels,
    /// Prompt length, in tokens.
    pub(super) isl: u32,
    /// Answer length, in tokens.
    pub(super) osl: u32,
    /// The duration of one stage.
    pub(super) duration: Span,
}

/// One number per stage.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Levels {
    /// Concurrent requests in each stage.
    Concurrency(Vec<u32>),
    /// Requests per second in each stage.
    Rate(Vec<RequestRate>),
}

impl Default for Load {
    fn default() -> Self {
        let levels = Levels::Concurrency(vec![1, 8, 64]);
        Load { levels, isl: 512, osl: 128, duration: Span(Duration::from_secs(60)) }
    }
}

impl Load {
    /// Reads a load. Parts that the text omits come from `default`. A list without a keyword is a list of concurrencies.
    ///
    /// # Errors
    /// A word is unknown, or a value is wrong or missing.
    pub(super) fn parse(text: &str, default: &Load) -> Result<Load, String> {
        let text = text.replace('=', " ").replace(", ", ",");
        let mut load = default.clone();
        let mut words = text.split_whitespace();
        let mut is_first = true;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} has no value; write one, such as {default}"));
            match word {
                "concurrency" => load.levels = Levels::Concurrency(list(value()?, concurrency)?),
                "rate" => load.levels = Levels::Rate(list(value()?, rate)?),
                "isl" => load.isl = tokens(value()?)?,
                "osl" => load.osl = tokens(value()?)?,
                "duration" => load.duration = duration(value()?)?,
                numbers if is_first && numbers.starts_with(|it: char| it.is_ascii_digit() || it == '-') => {
                    load.levels = Levels::Concurrency(list(numbers, concurrency)?);
                }
                unknown => return Err(format!("{} is unknown; {}", quoted(unknown), suggestion(unknown, KEYS))),
            }
            is_first = false;
        }
        Ok(load)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let (name, count) = match &self.levels {
            Levels::Concurrency(levels) => ("concurrency", levels.len()),
            Levels::Rate(levels) => ("rate", levels.len()),
        };
        let too_many = count > MAX_LEVELS;
        if too_many { Err(format!("{name} has {count} numbers; write at most {MAX_LEVELS}")) } else { Ok(()) }
    }
}

impl fmt::Display for Load {
    /// Writes the load in the form that [`Load::parse`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Load { levels, isl, osl, duration } = self;
        let name = match levels {
            Levels::Concurrency(_) => "concurrency",
            Levels::Rate(_) => "rate",
        };
        write!(f, "{name} {} isl {isl} osl {osl} duration {duration}", levels.joined(","))
    }
}

impl Levels {
    /// Returns the numbers, joined by `between`.
    pub(super) fn joined(&self, between: &str) -> String {
        let texts: Vec<String> = match self {
            Levels::Concurrency(levels) => levels.iter().map(ToString::to_string).collect(),
            Levels::Rate(levels) => levels.iter().map(ToString::to_string).collect(),
        };
        texts.join(between)
    }
}

fn list<T>(text: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    text.split(',').map(parse).collect()
}

/// Reads a number of concurrent requests.
///
/// # Errors
/// The text is not a whole number above 0.
pub(super) fn concurrency(text: &str) -> Result<u32, String> {
    count(text).ok_or_else(|| {
        format!("concurrency {} is not a whole number of at least 1; write, for example, 1,8,64", quoted(text))
    })
}

/// Reads a number of requests per second.
///
/// # Errors
/// The text is not a number, or the number is outside the bounds of a rate.
pub(super) fn rate(text: &str) -> Result<RequestRate, String> {
    let number = text.trim().parse::<f64>().ok();
    let rate = number.and_then(|it| RequestRate::try_from(it).ok());
    rate.ok_or_else(|| {
        let wanted = format!("a number above 0 and at most {} requests per second", RequestRate::MAX);
        format!("rate {} is not {wanted}; write, for example, 2,4,8", quoted(text))
    })
}

/// Reads a length in tokens.
///
/// # Errors
/// The text is not a whole number above 0.
pub(super) fn tokens(text: &str) -> Result<u32, String> {
    count(text)
        .ok_or_else(|| format!("{} is no number of tokens; write a whole number from 1, such as 512", quoted(text)))
}

/// Reads the duration of a stage.
///
/// # Errors
/// The text has no unit, or the duration is 0.
pub(super) fn duration(text: &str) -> Result<Span, String> {
    let span = text.parse::<Span>().ok().filter(|it| !it.0.is_zero());
    span.ok_or_else(|| {
        format!("{} is no duration above 0; write a number and its unit, such as 60s or 5m", quoted(text))
    })
}

fn count(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|it| *it > 0)
}
