//! The samples of one series. Pure.

use super::Scrape;
use crate::families::{Meaning, Part, Role};

/// Maximum number of counter restarts that are recorded separately. Further restarts are added to the last record.
const MAX_RESETS: usize = 64;

/// The samples of one metric name with one set of labels at one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The index of the address.
    pub address: usize,
    /// The name of the metric, with its suffix.
    pub metric: Box<str>,
    /// The labels as `name="value"`, separated by commas and sorted by name.
    pub labels: Box<str>,
    pub role: Role,
    pub part: Part,
    /// The upper bound of the histogram bucket; infinite for other series.
    pub bound: f64,
    numbers: Vec<u32>,
    values: Vec<f64>,
    /// For each restart: (number of its scrape, offset that is added to all later values). The offset is the last value before the restart. If a
    /// different process responded, the first value of that process is subtracted.
    resets: Vec<(u32, f64)>,
    last: f64,
}

impl Series {
    pub(super) fn new(address: usize, metric: &str, labels: &str, meaning: Meaning, bound: Option<f64>) -> Series {
        Series {
            address,
            metric: metric.into(),
            labels: labels.into(),
            role: meaning.role,
            part: meaning.part,
            bound: bound.unwrap_or(f64::INFINITY),
            numbers: Vec::new(),
            values: Vec::new(),
            resets: Vec::new(),
            last: 0.0,
        }
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// (scrape number, value as the server wrote it) of each sample, in time order.
    pub fn samples(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.numbers.iter().copied().zip(self.values.iter().copied())
    }

    /// The value in this scrape; `None` if the scrape has no value.
    pub(super) fn value_in(&self, number: u32) -> Option<f64> {
        let place = self.numbers.binary_search(&number).ok()?;
        self.values.get(place).copied()
    }

    /// The newest value.
    pub fn last(&self) -> f64 {
        self.last
    }

    /// Adds a sample. `changed` states whether a different process responded than in the previous scrape. The first value of a different process is
    /// not an increase, because that process might have been running for a long time. Returns `false` if the value is not kept: it is not finite, or
    /// is a second value in the same scrape.
    pub(super) fn push(&mut self, number: u32, value: f64, changed: bool) -> bool {
        if !value.is_finite() || self.numbers.last() == Some(&number) {
            return false;
        }
        let changed = changed && !self.role.is_absolute() && !self.is_empty();
        if self.is_counter() && (changed || value < self.last) {
            let gone = if changed { self.last - value } else { self.last };
            let full = self.resets.len() == MAX_RESETS;
            match self.resets.last_mut() {
                Some((_, lost)) if full => *lost += gone,
                _ => self.resets.push((number, gone)),
            }
        }
        self.last = value;
        self.numbers.push(number);
        self.values.push(value);
        true
    }

    /// Whether a falling value shows a restart of the server. False for metrics that no figure needs: they can be gauges, although their names look
    /// like counters.
    pub(super) fn shows_restarts(&self) -> bool {
        self.is_counter() && self.role != Role::Kept && !self.role.is_absolute()
    }

    /// Whether the counter fell in this scrape, which must be the newest.
    pub(super) fn fell(&self, number: u32) -> bool {
        self.resets.last().is_some_and(|it| it.0 == number)
    }

    /// Removes all samples.
    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.values.clear();
        self.resets.clear();
    }

    pub(super) fn is_counter(&self) -> bool {
        matches!(self.part, Part::Counter | Part::Bucket | Part::Sum | Part::Count)
    }

    /// Keeps only the samples from these scrapes, which must be sorted by number.
    pub(super) fn keep(&mut self, scrapes: &[Scrape]) {
        let kept: Vec<bool> =
            self.numbers.iter().map(|number| scrapes.binary_search_by_key(number, |it| it.number).is_ok()).collect();
        let mut flags = kept.iter();
        self.numbers.retain(|_| flags.next().copied().unwrap_or(false));
        let mut flags = kept.iter();
        self.values.retain(|_| flags.next().copied().unwrap_or(false));
    }

    /// The increase of a counter between two scrapes, including restarts. `None` if there is no sample up to `to`. If the scrape `from` lacks the
    /// counter, the counter is assumed to start at zero there. No such assumption is made if `from` is `None`, or if the counter does not count from
    /// the start of its process.
    pub(super) fn increase(&self, from: Option<u32>, to: u32) -> Option<f64> {
        let end = self.place(to)?;
        let begin = match from {
            Some(from) => match self.place(from) {
                Some(place) => self.whole(place),
                None if self.role.is_absolute() => self.whole(0),
                None => 0.0,
            },
            None => self.whole(0),
        };
        Some((self.whole(end) - begin).max(0.0)).filter(|it| it.is_finite())
    }

    /// The scrapes after `from` and up to `to` in which the counter restarted.
    pub(super) fn resets(&self, from: u32, to: u32) -> impl Iterator<Item = u32> + '_ {
        self.resets.iter().map(|it| it.0).filter(move |it| (from + 1..=to).contains(it))
    }

    /// The index of the last sample in or before a scrape.
    fn place(&self, number: u32) -> Option<usize> {
        self.numbers.partition_point(|it| *it <= number).checked_sub(1)
    }

    /// The value of a sample plus the offsets of all restarts up to it.
    fn whole(&self, place: usize) -> f64 {
        let (number, value) = (self.numbers[place], self.values[place]);
        let lost: f64 = self.resets.iter().filter(|(at, _)| *at <= number).map(|(_, lost)| lost).sum();
        value + lost
    }
}
