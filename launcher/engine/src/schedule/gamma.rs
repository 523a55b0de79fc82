//! Gamma gaps with shape `burstiness` and scale 1 / (rate x burstiness). Their mean is 1 / rate, and their coefficient of variation is 1 /
//! sqrt(burstiness). Burstiness 1 is a Poisson process. A smaller value gives bursts, and a larger one gives more even gaps. Sources:
//! `--burstiness` of `vllm bench serve`, and `arrival-smoothness` of AIPerf.

use rand::{Rng, RngExt as _};
use rand_distr::Gamma;

/// Returns gaps, in seconds, for a rate of one request per second. A burstiness of zero or less counts as 1.
pub(super) fn gaps(burstiness: f64, mut rng: impl Rng) -> impl Iterator<Item = f64> {
    let gap = Gamma::new(burstiness, 1.0 / burstiness)
        .unwrap_or_else(|_| Gamma::new(1.0, 1.0).expect("shape and scale are above zero"));
    std::iter::repeat_with(move || rng.sample::<f64, _>(gap))
}

#[cfg(test)]
mod tests {
    use workload_profiles::workload::Arrivals;

    use crate::schedule::tests::{gap_statistics, steady, times};

    fn check(arrivals: impl Fn(f64) -> Arrivals) {
        for burstiness in [0.25_f64, 1.0, 4.0] {
            let count = 100_000;
            let load = steady(arrivals(burstiness), 50.0, Some(2_000), Some(count));
            let (mean, variation) = gap_statistics(&times(&load, 5));
            let expected = 1.0 / burstiness.sqrt();
            // The tolerance for the mean is five standard errors: variation / sqrt(n). The standard error of the coefficient of variation c
            // of gamma gaps is c sqrt((1 + c^2) / (2 n)), up to terms of order 1 / n. Twice that value leaves room for the heavy tail.
            let n = count as f64;
            assert!((mean * 50.0 - 1.0).abs() < 5.0 * expected / n.sqrt(), "{burstiness}: {mean}");
            let error = expected * ((1.0 + expected * expected) / (2.0 * n)).sqrt();
            assert!((variation - expected).abs() < 10.0 * error, "{burstiness}: {variation} and not {expected}");
        }
    }

    #[test]
    fn gaps_have_the_mean_and_the_spread_of_their_burstiness() {
        check(|burstiness| Arrivals::Gamma { burstiness });
        check(|burstiness| Arrivals::ConditionedGamma { burstiness });
    }

    #[test]
    fn a_burstiness_that_is_none_counts_as_one() {
        for burstiness in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let load = steady(Arrivals::Gamma { burstiness }, 50.0, None, Some(2_000));
            let (mean, _) = gap_statistics(&times(&load, 5));
            assert!((mean * 50.0 - 1.0).abs() < 0.12, "{burstiness}: {mean}");
        }
    }
}
