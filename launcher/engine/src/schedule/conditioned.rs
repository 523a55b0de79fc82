//! Arrivals conditioned on their count: random gaps, scaled so that their sum is the duration. Request k is due at the sum of the first k gaps, so
//! the last one is due exactly at the end. With exponential gaps, inference-perf calls this `constant`. `vllm bench serve` uses this method with
//! gamma gaps for a steady rate.

use workload_profiles::workload::TimeChange;

/// Returns `count` sorted times within `length` nanoseconds. The value of a constant rate has no effect: after scaling, the rate is always count /
/// length.
pub(super) fn times(change: &TimeChange, length: u64, count: u64, gaps: impl Iterator<Item = f64>) -> Vec<u64> {
    let mut sum = 0.0;
    // To avoid a second array, `times` first holds the sums, as the bits of floating-point numbers. The times then replace the sums.
    let mut times: Vec<u64> = (0..usize::try_from(count).unwrap_or_default())
        .zip(gaps)
        .map(|(_, gap)| {
            sum += gap;
            f64::to_bits(sum)
        })
        .collect();
    let seconds = length as f64 / 1e9;
    let mass = change.requests_until(seconds);
    for time in &mut times {
        // For the last request, the quotient is exactly 1.
        let part = f64::from_bits(*time) / sum;
        let nanos = match change {
            TimeChange::Steady(_) => part * length as f64,
            _ => change.time_of(part * mass) * 1e9,
        };
        *time = (nanos.round() as u64).min(length);
    }
    times
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use workload_profiles::workload::Arrivals;

    use crate::schedule::tests::{gap_statistics, steady, times};

    #[test]
    fn the_last_conditioned_arrival_is_due_exactly_at_the_end() {
        for seed in 0..50 {
            for arrivals in [Arrivals::ConditionedPoisson, Arrivals::ConditionedGamma { burstiness: 0.3 }] {
                let times = times(&steady(arrivals, 7.3, Some(11), Some(80)), seed);
                assert_eq!((times.len(), times.last()), (80, Some(&Duration::from_secs(11))));
            }
        }
    }

    #[test]
    fn without_a_count_there_are_as_many_as_the_rate_makes_in_the_duration() {
        assert_eq!(times(&steady(Arrivals::ConditionedPoisson, 7.3, Some(11), None), 1).len(), 80);
    }

    #[test]
    fn conditioned_arrivals_are_exponential_not_even() {
        // The coefficient of variation is 1 for exponential gaps and 0 for even gaps.
        let (mean, variation) =
            gap_statistics(&times(&steady(Arrivals::ConditionedPoisson, 1_000.0, Some(20), Some(20_000)), 3));
        assert!((mean * 1_000.0 - 1.0).abs() < 0.01, "{mean}");
        assert!((variation - 1.0).abs() < 0.05, "{variation}");
    }
}
