//! Computes when the requests of an open-loop stage are due: a pure function of the load and a seed, evaluated before the first request.
//! There is one file per arrival process. A closed-loop stage has no schedule, because its slots decide when to send.

mod burst;
mod conditioned;
mod constant;
mod gamma;
pub mod measured;
mod poisson;
mod poisson_per_second;
mod ramp_up;
mod trace;
pub mod users;
#[cfg(test)]
mod varying_rate_tests;

use std::{iter, time::Duration};

use crds::units::Seed;
use measurement::schedule::Schedule;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use workload_profiles::workload::{Arrivals, Load, MAX_REQUESTS, Rate, RateShape, TimeChange, TraceEntry};

/// Maximum number of times in a schedule. It is twice the largest mean number that a profile may request, and random draws never reach it.
const MOST: u64 = 2 * MAX_REQUESTS;
const NANOSECOND: Duration = Duration::from_nanos(1);

/// Returns the schedule of a stage, which is always the same for the same seed; `None` for a closed loop. `trace` contains the entries that
/// the load replays.
pub fn schedule(load: &Load, trace: &[TraceEntry], seed: Seed) -> Option<Schedule> {
    let nanos = match load {
        Load::Open { arrivals, rate, duration, count, .. } => {
            open(*arrivals, rate, duration.map(|it| it.0), *count, seed)
        }
        Load::Burst { count, .. } => burst::times(*count),
        Load::Trace { speed, count, .. } => trace::times(trace, *speed, *count),
        Load::Users { rate, duration, count, .. } => {
            let (rate, length) = (TimeChange::Steady(rate.per_second()), duration.map_or(u64::MAX, |it| nanos(it.0)));
            // Without a duration and a count there is no request, as in an open loop.
            let count = if duration.is_some() { *count } else { Some(count.unwrap_or_default()) };
            until(&rate, length, count, constant::positions(0))
        }
        Load::Closed { .. } | Load::LoadGen { .. } => return None,
    };
    Some(Schedule::from_nanos(nanos))
}

/// Returns the request times of an open loop, in nanoseconds. The rate can vary.
fn open(arrivals: Arrivals, rate: &Rate, duration: Option<Duration>, count: Option<u64>, seed: Seed) -> Vec<u64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed.0);
    if let Rate::Varying(RateShape::RampUp { strategy, from, to }) = rate {
        let rates = (from.per_second(), to.per_second());
        return ramp_up::times(*strategy, rates, count.unwrap_or_default(), gaps(arrivals, rng));
    }
    let Some(change) = TimeChange::from_rate(rate) else { return Vec::new() };
    let length = duration.map_or(u64::MAX, nanos);
    let until_end = |end: Duration| change.requests_until(end.as_secs_f64()).floor() as u64;
    // One nanosecond is added, because a request at the very end of the duration must not be lost to rounding.
    let in_duration = duration.map(|it| until_end(it + NANOSECOND));
    let most = [count, in_duration].into_iter().flatten().min().unwrap_or_default().min(MOST);
    match arrivals {
        Arrivals::PoissonPerSecond => {
            let TimeChange::Steady(rate) = change else { return Vec::new() };
            poisson_per_second::times(rate, most, &mut rng)
        }
        Arrivals::ConditionedPoisson | Arrivals::ConditionedGamma { .. } => {
            let length = match duration {
                Some(end) if most >= until_end(end) => length,
                // The count is reached before the duration ends. The value saturates if the rate never produces this many requests.
                _ => (change.time_of(most as f64) * 1e9).round() as u64,
            };
            conditioned::times(&change, length, most, gaps(arrivals, rng))
        }
        Arrivals::Constant => until(&change, length, count, constant::positions(0)),
        // The last gap ends together with the duration, so a request at its very end is included.
        Arrivals::ConstantAfterGap => until(&change, length.saturating_add(1), count, constant::positions(1)),
        Arrivals::Poisson | Arrivals::Gamma { .. } => until(&change, length, count, sums(gaps(arrivals, rng))),
    }
}

/// Returns gaps, in seconds, for a rate of one request per second.
fn gaps<'a>(arrivals: Arrivals, rng: ChaCha8Rng) -> Box<dyn Iterator<Item = f64> + 'a> {
    match arrivals {
        Arrivals::Constant | Arrivals::ConstantAfterGap => Box::new(iter::repeat(1.0)),
        Arrivals::Gamma { burstiness } | Arrivals::ConditionedGamma { burstiness } => {
            Box::new(gamma::gaps(burstiness, rng))
        }
        Arrivals::Poisson | Arrivals::ConditionedPoisson | Arrivals::PoissonPerSecond => Box::new(poisson::gaps(rng)),
    }
}

fn sums(gaps: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    gaps.scan(0.0, |sum, gap| {
        *sum += gap;
        Some(*sum)
    })
}

/// Returns the times, in nanoseconds, at which `change` reaches these positions (numbers of requests). Ends at `length` nanoseconds.
fn until(change: &TimeChange, length: u64, count: Option<u64>, positions: impl Iterator<Item = f64>) -> Vec<u64> {
    let most = usize::try_from(count.unwrap_or(MOST).min(MOST)).unwrap_or_default();
    positions.take(most).map(|it| (change.time_of(it) * 1e9).round() as u64).take_while(|it| *it < length).collect()
}

/// Converts to nanoseconds. A schedule lasts at most weeks, so the value always fits.
fn nanos(length: Duration) -> u64 {
    u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use crds::units::{RequestRate, Span};
    use proptest::prelude::*;

    use super::*;

    /// Returns an open loop with a steady rate.
    pub(super) fn steady(arrivals: Arrivals, rate: f64, seconds: Option<u64>, count: Option<u64>) -> Load {
        let rate = Rate::Steady(RequestRate::try_from(rate).unwrap());
        let duration = seconds.map(|it| Span(Duration::from_secs(it)));
        Load::Open { arrivals, rate, duration, count, max_concurrency: None }
    }

    pub(super) fn times(load: &Load, seed: u64) -> Vec<Duration> {
        let schedule = schedule(load, &[], Seed(seed)).unwrap();
        assert_eq!(schedule.len(), schedule.iter().count() as u64);
        schedule.iter().collect()
    }

    /// Returns the mean of the gaps, in seconds, and their coefficient of variation.
    pub(super) fn gap_statistics(times: &[Duration]) -> (f64, f64) {
        let gaps: Vec<f64> = times.windows(2).map(|it| (it[1] - it[0]).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        (mean, variance.sqrt() / mean)
    }

    const RANDOM: [Arrivals; 5] = [
        Arrivals::Poisson,
        Arrivals::Gamma { burstiness: 0.5 },
        Arrivals::ConditionedPoisson,
        Arrivals::ConditionedGamma { burstiness: 2.0 },
        Arrivals::PoissonPerSecond,
    ];

    #[test]
    fn a_closed_loop_has_no_schedule() {
        let load = Load::closed(1, 1);
        assert_eq!(schedule(&load, &[], Seed(1)), None);
    }

    #[test]
    fn a_number_past_the_last_has_no_time() {
        let load = steady(Arrivals::ConditionedPoisson, 2.0, Some(1), Some(2));
        let schedule = schedule(&load, &[], Seed(1)).unwrap();
        assert_eq!(schedule.get(1), Some(Duration::from_secs(1)));
        assert_eq!((schedule.get(2), schedule.is_empty()), (None, false));
    }

    #[test]
    fn a_load_without_an_end_draws_nothing() {
        let load = steady(Arrivals::ConditionedPoisson, 1.0, None, None);
        assert_eq!(schedule(&load, &[], Seed(1)).unwrap().len(), 0);
    }

    #[test]
    fn a_count_and_a_duration_are_both_a_cap() {
        for arrivals in RANDOM.into_iter().chain([Arrivals::Constant, Arrivals::ConstantAfterGap]) {
            // The rate produces far fewer requests in the duration than the count allows, so the duration ends the stage.
            let found = times(&steady(arrivals, 20.0, Some(30), Some(5_000)), 1);
            assert_eq!(found, times(&steady(arrivals, 20.0, Some(30), None), 1), "{arrivals:?}");
            assert!((450..750).contains(&found.len()), "{arrivals:?} {}", found.len());
            // The count ends the stage, and the rate is as requested.
            let found = times(&steady(arrivals, 20.0, Some(3_000), Some(600)), 1);
            assert_eq!(found.len(), 600, "{arrivals:?}");
            let rate = 600.0 / found[599].as_secs_f64();
            assert!((15.0..27.0).contains(&rate), "{arrivals:?} {rate}");
        }
    }

    proptest! {
        #[test]
        fn arrivals_are_in_order_and_repeat_for_a_seed(seed in any::<u64>(), rate in 0.5_f64..200.0, seconds in 2_u64..20) {
            let requests = (rate * seconds as f64).floor() as u64;
            let count = Some(requests);
            for arrivals in RANDOM.into_iter().chain([Arrivals::Constant, Arrivals::ConstantAfterGap]) {
                let found = times(&steady(arrivals, rate, None, count), seed);
                prop_assert!(found.is_sorted());
                prop_assert_eq!(found.len() as u64, requests);
            }
            for arrivals in RANDOM {
                let load = steady(arrivals, rate, Some(seconds), count);
                let found = times(&load, seed);
                prop_assert_eq!(&found, &times(&load, seed));
                // If there are few requests, two seeds may yield equal times, for example one request at the end of each second.
                prop_assert!(requests < 10 || found != times(&load, seed ^ 1));
                let faster = steady(arrivals, rate + 7.0, Some(seconds), Some(requests + 1));
                // If there are few requests, all of them can be due after the end.
                prop_assert!(requests < 10 || found != times(&faster, seed));
                if arrivals != Arrivals::PoissonPerSecond {
                    prop_assert!(found.iter().all(|it| *it <= Duration::from_secs(seconds)));
                }
            }
        }
    }
}
