//! Gauges over a window of time: mean, least and most. Pure.
//!
//! A sample holds until the next one, at most for [`HOLD`] intervals. After that the level is unknown.

use std::time::Duration;

use super::{Scrape, Series, Store};
use crate::families::{Part, Role};

/// Intervals between scrapes for which a sample holds.
pub(super) const HOLD: u32 = 5;

/// A gauge over a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Levels {
    /// Weighted by time.
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

impl Levels {
    pub(super) fn scaled(self, by: f64) -> Levels {
        Levels { mean: self.mean * by, min: self.min * by, max: self.max * by }
    }
}

/// A value, and when it held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Held {
    pub(super) from: Duration,
    pub(super) to: Duration,
    pub(super) value: f64,
}

/// The parts of a window in which each sample held. `samples` are in the order of time.
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
    /// When each sample of the gauges of a role held, within a window.
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
}

/// Of several gauges, each for itself: the mean over all of them, the least and the most of any.
pub(super) fn each(gauges: &[Vec<Held>]) -> Option<Levels> {
    levels(gauges.iter().flatten().copied())
}

/// Of the sum of several gauges. A gauge that is not known for a while is not in the sum meanwhile.
pub(super) fn sum(gauges: &[Vec<Held>]) -> Option<Levels> {
    levels(sums(gauges).into_iter())
}

/// The sum of several gauges, and when it held.
pub(super) fn sums(gauges: &[Vec<Held>]) -> Vec<Held> {
    let mut changes: Vec<(Duration, f64, i32)> =
        gauges.iter().flatten().flat_map(|it| [(it.from, it.value, 1), (it.to, -it.value, -1)]).collect();
    // What ends at a moment does so before what begins then.
    changes.sort_by_key(|it| (it.0, it.2));
    let (mut now, mut value, mut known) = (Duration::ZERO, 0.0, 0);
    let mut parts = Vec::with_capacity(changes.len());
    for (at, change, count) in changes {
        if known > 0 && at > now {
            parts.push(Held { from: now, to: at, value });
        }
        (now, value, known) = (at, value + change, known + count);
        if known == 0 {
            // Rounding errors do not add up.
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
    (weight > 0.0 && all.is_finite()).then(|| Levels { mean: all / weight, min, max })
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
        // 1, then 11, then 13, then 3.
        assert_eq!(sum(&[one, two]).unwrap(), Levels { mean: 7.0, min: 1.0, max: 13.0 });
    }
}
