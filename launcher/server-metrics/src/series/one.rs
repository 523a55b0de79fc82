//! The samples of one series. Pure.

use super::Scrape;
use crate::families::{Meaning, Part, Role};

/// Maximum number of counter restarts that are recorded separately; the losses of later restarts are added to the last one.
const MAX_RESETS: usize = 64;

/// The samples of one name with one set of labels at one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The index of its address.
    pub address: usize,
    /// The name of the metric, with its suffix.
    pub metric: Box<str>,
    /// `name="value"`, separated by commas and sorted by name.
    pub labels: Box<str>,
    pub role: Role,
    pub part: Part,
    /// The upper bound of a histogram bucket.
    pub bound: f64,
    numbers: Vec<u32>,
    values: Vec<f64>,
    /// The scrape number at which the counter restarted, and the offset to add to later values: the counter's previous value. If a different process
    /// responded, the first value of its counter is subtracted.
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

    /// The scrape number and the value of each sample, as the server wrote it, in time order.
    pub fn samples(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.numbers.iter().copied().zip(self.values.iter().copied())
    }

    /// The value in this scrape.
    pub(super) fn value_in(&self, number: u32) -> Option<f64> {
        let place = self.numbers.binary_search(&number).ok()?;
        self.values.get(place).copied()
    }

    /// The newest value.
    pub fn last(&self) -> f64 {
        self.last
    }

    /// `changed`: another process responded than in the previous scrape. The first value of a new process's counter is no increase, because the
    /// process may be an old one that is new to us. `false`: the value is no number, or a second value of this scrape, and is not kept.
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

    /// Whether a fall shows that a server restarted. A metric that no figure needs may be a gauge in spite of its name.
    pub(super) fn shows_restarts(&self) -> bool {
        self.is_counter() && self.role != Role::Kept && !self.role.is_absolute()
    }

    /// Whether the counter fell in this scrape, which is the newest.
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

    /// Keeps only the samples of these scrapes, which are sorted by number.
    pub(super) fn keep(&mut self, scrapes: &[Scrape]) {
        let kept: Vec<bool> =
            self.numbers.iter().map(|number| scrapes.binary_search_by_key(number, |it| it.number).is_ok()).collect();
        let mut flags = kept.iter();
        self.numbers.retain(|_| flags.next().copied().unwrap_or(false));
        let mut flags = kept.iter();
        self.values.retain(|_| flags.next().copied().unwrap_or(false));
    }

    /// The increase of a counter from one scrape to another, including restarts. `None`: it has no sample by then. A counter that is missing in the
    /// first scrape starts at zero, unless there was no such scrape, or it does not count from the start of its process.
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

    /// The restarts of the counter after one scrape and until another.
    pub(super) fn resets(&self, from: u32, to: u32) -> impl Iterator<Item = u32> + '_ {
        self.resets.iter().map(|it| it.0).filter(move |it| (from + 1..=to).contains(it))
    }

    /// The index of the last sample up to a scrape.
    fn place(&self, number: u32) -> Option<usize> {
        self.numbers.partition_point(|it| *it <= number).checked_sub(1)
    }

    /// The value of a sample plus the losses of earlier restarts.
    fn whole(&self, place: usize) -> f64 {
        let (number, value) = (self.numbers[place], self.values[place]);
        let lost: f64 = self.resets.iter().filter(|(at, _)| *at <= number).map(|(_, lost)| lost).sum();
        value + lost
    }
}
