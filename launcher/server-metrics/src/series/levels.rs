//! Computes mean, minimum and maximum of gauges over a time window. Pure.
//!
//! A sample is valid until the next sample, but for at most [`HOLD`] scrape intervals. After that, the value is unknown.

use std::{collections::BTreeSet, time::Duration};

use super::{Scrape, Series, Store};
use crate::families::{Part, Role};

/// How long a sample stays valid, in scrape intervals.
pub(super) const HOLD: u32 = 5;

/// The values of a gauge over a time window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// The mean, weighted by time.
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

impl Levels {
    pub(super) fn scaled(self, by: f64) -> Levels {
        Levels { mean: self.mean * by, min: self.min * by, max: self.max * by }
    }
}

/// A value and the time in which it is valid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) from: Duration,
    pub(super) to: Duration,
    pub(super) value: f64,
}

/// Splits a window into the parts in which each sample is valid. `samples` must be in time order.
fn held(samples: impl Iterator<Item = (Duration, f64)>, (from, to): (Duration, Duration), hold: Duration) -> Vec<Held> {
    let mut samples = samples.peekable();
    let mut found = Vec::new();
    while let Some((at, value)) = samples.next() {
        let next = samples.peek().map_or(Duration::MAX, |it| it.0);
        let (begin, end) = (at.max(from), next.min(at.saturating_add(hold)).min(to));
        if begin < end {
            found.push(Held { from: begin, to: end, value });
        }
    }
    found
}

impl Store {
    /// For each gauge with this role: its values within a window, each with its time of validity.
    pub(super) fn gauges(&self, role: Role, window: (Duration, Duration), hold: Duration) -> Vec<Vec<Held>> {
        let parts = |(series, scrapes): (&Series, &[Scrape])| {
            let time = |number: u32| {
                let place = scrapes.binary_search_by_key(&number, |it| it.number).ok()?;
                Some(scrapes[place].at)
            };
            held(series.samples().filter_map(|(number, value)| Some((time(number)?, value))), window, hold)
        };
        self.of_role(role, Part::Gauge).map(parts).collect()
    }

    /// The sum of the gauges with this role over all servers. Times in which a server is silent are left out, because the sum would be too small.
    pub(super) fn sums(&self, role: Role, window: (Duration, Duration), hold: Duration) -> Vec<Held> {
        if self.is_mixed(role) {
            return Vec::new();
        }
        without(sums(&self.gauges(role, window, hold)), self.silences(role, hold, hold))
    }

    /// The times in which any server with this role was silent, in order and without overlaps. A server is silent if more than `hold` passes between
    /// two successful scrapes. The silence begins when `known` has passed since the first of these scrapes, and ends at the second.
    pub(super) fn silences(&self, role: Role, hold: Duration, known: Duration) -> Vec<Silence> {
        let addresses: BTreeSet<usize> = self.named(role).map(|it| it.address).collect();
        let addresses = addresses.iter().filter_map(|it| self.addresses.get(*it));
        united(addresses.flat_map(|it| silences(it.scrapes(), hold, known)).collect())
    }

    /// The fraction of a window in which no server was silent. `None` if the window has no length.
    pub(super) fn answered_share(&self, (from, to): (Duration, Duration), hold: Duration) -> Option<f64> {
        let all = united(self.addresses.iter().flat_map(|it| silences(it.scrapes(), hold, hold)).collect());
        let silent: Duration = all.iter().map(|it| it.1.min(to).saturating_sub(it.0.max(from))).sum();
        let length = to.saturating_sub(from).as_secs_f64();
        Some(1.0 - silent.as_secs_f64() / length).filter(|it| it.is_finite())
    }
}

/// The time in which a server was silent: (from, to).
pub(super) type Silence = (Duration, Duration);

/// The silences of one address. They begin after its first response at the earliest, and end with its last scrape at the latest, because the server
/// may not exist any more after that.
fn silences(scrapes: &[Scrape], hold: Duration, known: Duration) -> Vec<Silence> {
    let good = || scrapes.iter().filter(|it| it.ok);
    let between = good().zip(good().skip(1)).map(|(one, next)| (one.at, next.at));
    let last = good().next_back().zip(scrapes.last()).filter(|(good, last)| good.number != last.number);
    let after = last.map(|(good, last)| (good.at, last.at.saturating_add(hold)));
    let long = between.chain(after).filter(|(from, to)| to.saturating_sub(*from) > hold);
    long.map(|(from, to)| (from.saturating_add(known), to)).collect()
}

fn united(mut silences: Vec<Silence>) -> Vec<Silence> {
    silences.sort_unstable();
    let mut found: Vec<Silence> = Vec::new();
    for (from, to) in silences {
        match found.last_mut() {
            Some((_, last)) if from <= *last => *last = to.max(*last),
            _ => found.push((from, to)),
        }
    }
    found
}

/// Removes the times of silences from the parts. Parts and silences must be in time order.
pub(super) fn without(parts: Vec<Held>, silences: Vec<Silence>) -> Vec<Held> {
    let mut found = Vec::with_capacity(parts.len());
    for Held { mut from, to, value } in parts {
        let first = silences.partition_point(|it| it.1 <= from);
        for (begin, end) in silences[first..].iter().take_while(|it| it.0 < to) {
            if from < *begin {
                found.push(Held { from, to: *begin, value });
            }
            from = *end;
        }
        if from < to {
            found.push(Held { from, to, value });
        }
    }
    found
}

/// The mean of several gauges together, and their extremes: the minimum and maximum of any single one.
pub(super) fn each(gauges: &[Vec<Held>]) -> Option<Levels> {
    levels(gauges.iter().flatten().copied())
}

/// The mean, minimum and maximum over parts that follow each other in time.
pub(super) fn in_sequence(parts: Vec<Held>) -> Option<Levels> {
    levels(parts.into_iter())
}

/// The sum of several gauges, with times of validity. While a gauge is unknown, the sum does not include it.
pub(super) fn sums(gauges: &[Vec<Held>]) -> Vec<Held> {
    let mut changes: Vec<(Duration, f64, i32)> =
        gauges.iter().flatten().flat_map(|it| [(it.from, it.value, 1), (it.to, -it.value, -1)]).collect();
    // If one value ends at the moment at which another begins, the end comes first.
    changes.sort_by_key(|it| (it.0, it.2));
    let (mut now, mut value, mut known) = (Duration::ZERO, 0.0, 0);
    let mut parts = Vec::with_capacity(changes.len());
    for (at, change, count) in changes {
        if known > 0 && at > now {
            parts.push(Held { from: now, to: at, value });
        }
        (now, value, known) = (at, value + change, known + count);
        if known == 0 {
            // No gauge is known here, so the sum is set to 0 exactly. Otherwise rounding errors would accumulate.
            value = 0.0;
        }
    }
    parts
}

fn levels(parts: impl Iterator<Item = Held>) -> Option<Levels> {
    let (mut weight, mut all) = (0.0, 0.0);
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    for Held { from, to, value } in parts {
        let length = (to - from).as_secs_f64();
        weight += length;
        all += value * length;
        min = min.min(value);
        max = max.max(value);
    }
    let mean = all / weight;
    mean.is_finite().then_some(Levels { mean, min, max })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn gauge(samples: &[(f64, f64)], window: (f64, f64)) -> Vec<Held> {
        let samples = samples.iter().map(|(at, value)| (secs(*at), *value));
        held(samples, (secs(window.0), secs(window.1)), secs(5.0))
    }

    #[test]
    fn a_mean_is_weighted_by_time() {
        let one = gauge(&[(0.0, 2.0), (1.0, 4.0), (4.0, 0.0)], (0.5, 4.5));
        let levels = each(&[one]).unwrap();
        assert_eq!(levels, Levels { mean: (2.0 * 0.5 + 4.0 * 3.0) / 4.0, min: 0.0, max: 4.0 });
    }

    #[test]
    fn a_value_holds_for_a_while_and_not_for_ever() {
        let one = gauge(&[(0.0, 2.0)], (1.0, 100.0));
        assert_eq!(one, [Held { from: secs(1.0), to: secs(5.0), value: 2.0 }]);
        assert!(gauge(&[(0.0, 2.0)], (6.0, 100.0)).is_empty());
        assert!(gauge(&[], (0.0, 1.0)).is_empty());
        assert_eq!(each(&[]), None);
    }

    #[test]
    fn sums_are_of_the_same_moment() {
        let (one, two) = (gauge(&[(0.0, 1.0), (2.0, 3.0)], (0.0, 4.0)), gauge(&[(1.0, 10.0), (3.0, 0.0)], (0.0, 4.0)));
        // The sum is 1, then 11, then 13, then 3.
        assert_eq!(in_sequence(sums(&[one, two])).unwrap(), Levels { mean: 7.0, min: 1.0, max: 13.0 });
    }
}
