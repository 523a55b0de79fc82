//! Poisson arrivals, second by second. The number of requests in a second is drawn from a Poisson distribution. Scaled exponential gaps
//! place them within the second, with the last one at its end. This is repeated until the count is reached, so the total time varies around
//! the duration of the stage. inference-perf calls this `poisson`.

use std::time::Duration;

use rand::{Rng, RngExt as _};
use rand_distr::Poisson;

use workload_profiles::workload::TimeChange;

use super::{conditioned, nanos, poisson};

const SECOND: Duration = Duration::from_secs(1);

/// Returns `count` sorted times, in nanoseconds.
pub(super) fn times(rate: f64, count: u64, rng: &mut impl Rng) -> Vec<u64> {
    let requests = Poisson::new(rate).expect("a RequestRate is finite and above zero");
    let count = usize::try_from(count).unwrap_or_default();
    let mut times = Vec::with_capacity(count);
    let mut start = 0;
    while times.len() < count {
        let in_second = rng.sample::<f64, _>(requests) as u64;
        let gaps = poisson::gaps(&mut *rng);
        let placed = conditioned::times(&TimeChange::Steady(1.0), nanos(SECOND), in_second, gaps);
        times.extend(placed.into_iter().take(count - times.len()).map(|it| start + it));
        start += nanos(SECOND);
    }
    times
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use workload_profiles::workload::Arrivals;

    use crate::schedule::tests::{steady, times};

    fn check(rate: f64, seconds: u64, seed: u64) -> Vec<Duration> {
        let count = Some((rate * seconds as f64).floor() as u64);
        times(&steady(Arrivals::PoissonPerSecond, rate, Some(seconds), count), seed)
    }

    #[test]
    fn a_second_of_the_poisson_process_ends_with_its_last_arrival() {
        // In each second that has requests, the last one is due at the end of the second.
        let times = check(5.0, 200, 9);
        let last_whole = times.last().unwrap().as_secs();
        for second in 0..last_whole {
            let (start, end) = (Duration::from_secs(second), Duration::from_secs(second + 1));
            let inside = times.iter().filter(|it| **it > start && **it <= end).collect::<Vec<_>>();
            assert!(inside.last().is_none_or(|it| **it == end), "{second}");
        }
    }

    #[test]
    fn the_counts_of_poisson_seconds_vary_as_a_poisson_distribution_does() {
        let times = check(20.0, 2_000, 4);
        let seconds = times.last().unwrap().as_secs() as usize;
        let mut counts = vec![0.0; seconds + 1];
        for at in &times {
            counts[(at.as_nanos() - 1) as usize / 1_000_000_000] += 1.0;
        }
        counts.truncate(seconds);
        let mean = counts.iter().sum::<f64>() / seconds as f64;
        let variance = counts.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / seconds as f64;
        assert!((mean - 20.0).abs() < 0.5, "{mean}");
        assert!((variance / mean - 1.0).abs() < 0.15, "{}", variance / mean);
    }
}
