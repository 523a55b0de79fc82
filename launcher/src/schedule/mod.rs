//! When the requests of an open-loop stage are due: a pure function of the load and a seed, complete before the first
//! request. One file per arrival process; closed-loop stages have no schedule, their slots decide.

mod conditioned_poisson;
mod poisson_per_second;

use std::time::Duration;

use crds::units::Seed;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use workload_profiles::workload::{Arrivals, Load};

/// Times in order, from the start of their stage. Eight bytes a request, so that ten million of them fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    nanos: Vec<u64>,
}

impl Schedule {
    /// How many requests.
    pub fn len(&self) -> u64 {
        self.nanos.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nanos.is_empty()
    }

    /// When a request is due; `None` past the last.
    pub fn get(&self, number: u64) -> Option<Duration> {
        let index = usize::try_from(number).ok()?;
        self.nanos.get(index).copied().map(Duration::from_nanos)
    }

    /// All times in order.
    pub fn iter(&self) -> impl Iterator<Item = Duration> + '_ {
        self.nanos.iter().copied().map(Duration::from_nanos)
    }
}

/// The schedule of a stage, the same for the same seed; `None` for a closed loop.
pub fn schedule(load: &Load, seed: Seed) -> Option<Schedule> {
    let Load::Open { arrivals, rate, duration, count } = load else { return None };
    let mut rng = ChaCha8Rng::seed_from_u64(seed.0);
    let nanos = match arrivals {
        Arrivals::ConditionedPoisson => conditioned_poisson::times(duration.0, *count, &mut rng),
        Arrivals::PoissonPerSecond => poisson_per_second::times(*rate, *count, &mut rng),
    };
    Some(Schedule { nanos })
}

/// Nanoseconds of a length; a schedule is at most weeks long, which fits many times.
fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use crds::units::{RequestRate, Span};
    use proptest::prelude::*;

    use super::*;

    fn check(arrivals: Arrivals, rate: f64, seconds: u64, seed: u64) -> Vec<Duration> {
        let load = Load::Open {
            arrivals,
            rate: RequestRate::try_from(rate).unwrap(),
            duration: Span(Duration::from_secs(seconds)),
            count: (rate * seconds as f64).floor() as u64,
        };
        let schedule = schedule(&load, Seed(seed)).unwrap();
        assert_eq!(schedule.len(), load.count());
        schedule.iter().collect()
    }

    #[test]
    fn a_closed_loop_has_no_schedule() {
        assert_eq!(schedule(&Load::Closed { concurrency: 1, count: 1 }, Seed(1)), None);
    }

    #[test]
    fn a_number_past_the_last_has_no_time() {
        let load = Load::Open {
            arrivals: Arrivals::ConditionedPoisson,
            rate: RequestRate::try_from(2.0).unwrap(),
            duration: Span(Duration::from_secs(1)),
            count: 2,
        };
        let schedule = schedule(&load, Seed(1)).unwrap();
        assert_eq!(schedule.get(1), Some(Duration::from_secs(1)));
        assert_eq!((schedule.get(2), schedule.is_empty()), (None, false));
    }

    #[test]
    fn the_last_conditioned_arrival_is_due_exactly_at_the_end() {
        for seed in 0..50 {
            assert_eq!(check(Arrivals::ConditionedPoisson, 7.3, 11, seed).last(), Some(&Duration::from_secs(11)));
        }
    }

    #[test]
    fn conditioned_arrivals_are_exponential_not_even() {
        // The coefficient of variation of exponential gaps is 1; even gaps would have 0.
        let times = check(Arrivals::ConditionedPoisson, 1_000.0, 20, 3);
        let gaps: Vec<f64> = times.windows(2).map(|it| (it[1] - it[0]).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean * 1_000.0 - 1.0).abs() < 0.01, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "{}", variance.sqrt() / mean);
    }

    #[test]
    fn a_second_of_the_poisson_process_ends_with_its_last_arrival() {
        // Each second that holds requests places the last of them at its end.
        let times = check(Arrivals::PoissonPerSecond, 5.0, 200, 9);
        let last_whole = times.last().unwrap().as_secs();
        for second in 0..last_whole {
            let (start, end) = (Duration::from_secs(second), Duration::from_secs(second + 1));
            let inside = times.iter().filter(|it| **it > start && **it <= end).collect::<Vec<_>>();
            assert!(inside.last().is_none_or(|it| **it == end), "{second}");
        }
    }

    #[test]
    fn the_counts_of_poisson_seconds_vary_as_a_poisson_distribution_does() {
        let times = check(Arrivals::PoissonPerSecond, 20.0, 2_000, 4);
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

    proptest! {
        #[test]
        fn arrivals_are_in_order_and_repeat_for_a_seed(seed in any::<u64>(), rate in 0.5_f64..200.0, seconds in 2_u64..20) {
            for arrivals in [Arrivals::ConditionedPoisson, Arrivals::PoissonPerSecond] {
                let times = check(arrivals, rate, seconds, seed);
                prop_assert!(times.is_sorted());
                prop_assert_eq!(&times, &check(arrivals, rate, seconds, seed));
                prop_assert_ne!(&times, &check(arrivals, rate + 7.0, seconds, seed));
            }
            let conditioned = check(Arrivals::ConditionedPoisson, rate, seconds, seed);
            prop_assert!(conditioned.iter().all(|it| *it <= Duration::from_secs(seconds)));
        }
    }
}
