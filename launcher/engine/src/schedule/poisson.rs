//! A Poisson process: independent exponential gaps with mean 1 / rate, drawn from the seed of the stage's arrivals. Sources: queueing
//! theory, and `poisson` of GuideLLM and AIPerf.

use rand::{Rng, RngExt as _};
use rand_distr::Exp1;

/// Returns gaps, in seconds, for a rate of one request per second.
pub(super) fn gaps(mut rng: impl Rng) -> impl Iterator<Item = f64> {
    std::iter::repeat_with(move || rng.sample::<f64, _>(Exp1))
}

#[cfg(test)]
mod tests {
    use workload_profiles::workload::Arrivals;

    use crate::schedule::tests::{gap_statistics, steady, times};

    #[test]
    fn gaps_have_the_mean_and_the_spread_of_an_exponential_distribution() {
        let (mean, variation) = gap_statistics(&times(&steady(Arrivals::Poisson, 1_000.0, None, Some(40_000)), 3));
        // The tolerances are five standard errors. The mean of n gaps has a standard error of 1 / sqrt(n), and their coefficient of
        // variation one of sqrt(2 / n), because the fourth moment of an exponential is 9. Here these are 0.005 and 0.0071.
        assert!((mean * 1_000.0 - 1.0).abs() < 0.025, "{mean}");
        assert!((variation - 1.0).abs() < 0.036, "{variation}");
    }

    #[test]
    fn the_number_within_a_duration_varies_as_a_poisson_number() {
        let counts: Vec<f64> =
            (0..400).map(|seed| times(&steady(Arrivals::Poisson, 20.0, Some(5), None), seed).len() as f64).collect();
        let mean = counts.iter().sum::<f64>() / 400.0;
        let variance = counts.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / 400.0;
        // Mean and variance are 100. Their standard errors are sqrt(100 / 400) and 100 sqrt(2 / 400). The tolerances are five standard errors.
        assert!((mean - 100.0).abs() < 2.5, "{mean}");
        assert!((variance - 100.0).abs() < 36.0, "{variance}");
    }
}
