//! A rate that changes with each request. The gap of request i of n is 1 / r, where r is the rate at the progress p = i / (n - 1). r is
//! from + (to - from) x p, or from x (to / from) ^ p. Source: `--ramp-up-strategy` of `vllm bench serve`. With its even gaps (burstiness
//! inf), the first request also comes after a gap.

use workload_profiles::workload::RampUpStrategy;

/// Returns the times of `count` requests, in nanoseconds. `gaps` are gaps for a rate of one request per second.
pub(super) fn times(
    strategy: RampUpStrategy,
    (from, to): (f64, f64),
    count: u64,
    gaps: impl Iterator<Item = f64>,
) -> Vec<u64> {
    let last = count.saturating_sub(1).max(1) as f64;
    let rate = |number: u64| {
        let progress = number as f64 / last;
        match strategy {
            RampUpStrategy::Linear => from + (to - from) * progress,
            RampUpStrategy::Exponential => from * (to / from).powf(progress),
        }
    };
    let mut at = 0.0;
    (0..count)
        .zip(gaps)
        .map(|(number, gap)| {
            at += gap / rate(number);
            (at * 1e9).round() as u64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use workload_profiles::workload::{Arrivals, Load, RampUpStrategy, Rate, RateShape};

    use crate::schedule::tests::times;

    fn load(arrivals: Arrivals, strategy: RampUpStrategy, from: f64, to: f64, count: u64) -> Load {
        let (from, to) = (from.try_into().unwrap(), to.try_into().unwrap());
        let rate = Rate::Varying(RateShape::RampUp { strategy, from, to });
        Load::Open { arrivals, rate, duration: None, count: Some(count), max_concurrency: None }
    }

    fn check(strategy: RampUpStrategy, from: f64, to: f64, expected: &[u64]) {
        let load = load(Arrivals::ConstantAfterGap, strategy, from, to, expected.len() as u64);
        let found: Vec<u64> = times(&load, 1).iter().map(|it| it.as_millis() as u64).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_request_has_the_gap_of_its_own_rate() {
        // The rates are 1, 2, 3, 4 and 5, so the gaps are 1000, 500, 333, 250 and 200 ms.
        check(RampUpStrategy::Linear, 1.0, 5.0, &[1_000, 1_500, 1_833, 2_083, 2_283]);
        // The rates are 1, 2, 4 and 8.
        check(RampUpStrategy::Exponential, 1.0, 8.0, &[1_000, 1_500, 1_750, 1_875]);
        // Rates may also fall. A single request has the first rate.
        check(RampUpStrategy::Linear, 4.0, 2.0, &[250, 583, 1_083]);
        check(RampUpStrategy::Linear, 4.0, 2.0, &[250]);
    }

    #[test]
    fn drawn_gaps_shrink_as_the_rate_rises() {
        let load = load(Arrivals::Poisson, RampUpStrategy::Linear, 10.0, 30.0, 20_000);
        let found = times(&load, 7);
        // The mean of 1 / rate over a linear rate is ln(30 / 10) / (30 - 10), for 20,000 gaps. The sum of independent gaps has a standard
        // error of sqrt(sum of 1 / rate^2) = sqrt(20,000 / (10 x 30)) s. The tolerance is five standard errors.
        let expected = 20_000.0 * 3.0_f64.ln() / 20.0;
        let last = found.last().unwrap().as_secs_f64();
        assert!((last - expected).abs() < 5.0 * (20_000.0_f64 / 300.0).sqrt(), "{last} and not {expected}");
        assert!(found.iter().all(|it| *it > Duration::ZERO));
    }
}
