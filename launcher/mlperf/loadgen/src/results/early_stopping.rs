//! Early stopping: given the number of queries above a limit, how many queries must be within the limit? That many show, with the requested
//! confidence, that the system's percentile is within the limit.

/// A binomial test: for each number of queries above the limit, the minimum number of queries within it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EarlyStopping {
    /// The percentile minus the tolerance, between 0 and 1 (exclusive).
    share: f64,
    /// Maximum error probability, between 0 and 1 (exclusive).
    alpha: f64,
    /// Minimum number of queries within the limit if no query is above it.
    alone: u64,
}

/// The reason why a test cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum EarlyStoppingError {
    /// With this percentile, either no number of queries is enough or none is needed.
    #[error(
        "target_latency_percentile is {percentile} less a tolerance of {tolerance}; set a share between 0 and 1, \
         such as 0.99"
    )]
    Percentile {
        /// The percentile as a share.
        percentile: f64,
        /// The tolerance as a share.
        tolerance: f64,
    },
    /// With this confidence, either no number of queries is enough or none is needed.
    #[error("the confidence of early stopping is {confidence}; set a share between 0 and 1, such as 0.99")]
    Confidence {
        /// The confidence as a share.
        confidence: f64,
    },
}

/// The confidence of LoadGen's tests.
pub const CONFIDENCE: f64 = 0.99;

impl EarlyStopping {
    /// Creates LoadGen's test: no tolerance, and 99 % confidence. `percentile` is a share.
    ///
    /// # Errors
    /// The percentile is not between 0 and 1.
    pub fn at(percentile: f64) -> Result<Self, EarlyStoppingError> {
        EarlyStopping::new(percentile, 0.0, CONFIDENCE)
    }

    /// Creates a test with a tolerance, which is subtracted from the percentile, and a confidence. All are shares.
    ///
    /// # Errors
    /// The percentile or the confidence is not between 0 and 1.
    pub fn new(percentile: f64, tolerance: f64, confidence: f64) -> Result<Self, EarlyStoppingError> {
        let inside = |share: f64| share > 0.0 && share < 1.0;
        let share = percentile - tolerance;
        if !inside(share) {
            return Err(EarlyStoppingError::Percentile { percentile, tolerance });
        }
        let alpha = 1.0 - confidence;
        if !inside(confidence) || !inside(alpha) {
            return Err(EarlyStoppingError::Confidence { confidence });
        }
        Ok(EarlyStopping { share, alpha, alone: (alpha.ln() / share.ln()).ceil() as u64 })
    }

    /// H(t): returns the minimum number of queries within the limit if `above` queries are above it.
    pub fn within(&self, above: u64) -> u64 {
        let odds_to_one = self.share / (1.0 - self.share);
        // The bounds between which LoadGen searches.
        let mut least = ((above as f64 * odds_to_one) as u64).saturating_add(self.alone);
        let mut most = above.saturating_mul(self.alone).saturating_add(self.alone).saturating_add(1);
        while least < most {
            let middle = least + (most - least) / 2;
            if self.chance(middle, above) < self.alpha {
                most = middle;
            } else {
                least = middle + 1;
            }
        }
        least
    }

    /// Returns the minimum number of queries with which the test passes if `above` of them are above the limit.
    pub fn queries(&self, above: u64) -> u64 {
        self.within(above).saturating_add(above)
    }

    /// Returns how many of `queries` queries can be above the limit; `None` if there are too few queries to pass even if none is above it.
    pub fn budget(&self, queries: u64) -> Option<u64> {
        if queries < self.queries(0) {
            return None;
        }
        // The more queries are above the limit, the more queries are needed to pass. So bisection finds the largest number that passes.
        let (mut passes, mut fails) = (0, queries);
        while fails - passes > 1 {
            let middle = passes + (fails - passes) / 2;
            if queries >= self.queries(middle) {
                passes = middle;
            } else {
                fails = middle;
            }
        }
        Some(passes)
    }

    /// Returns how many of the slowest of `queries` queries are set aside to estimate the percentile. If n are set aside, the estimate is value
    /// number `queries` - n in ascending order, counted from 0. `None` if there are fewer queries than [`Self::least_for_estimate`].
    pub fn estimate_budget(&self, queries: u64) -> Option<u64> {
        self.budget(queries).filter(|above| *above >= 1)
    }

    /// Returns the minimum number of queries for an estimate of the percentile: H(1) + 1.
    pub fn least_for_estimate(&self) -> u64 {
        self.queries(1)
    }

    /// Returns the probability that at most `above` of `within + above` queries exceed the limit if the true percentile equals the limit.
    /// This is the regularised incomplete beta function, computed with LoadGen's hypergeometric series and precision.
    fn chance(&self, within: u64, above: u64) -> f64 {
        const ENOUGH: f64 = 1.0 / (1u64 << 33) as f64;
        let x = self.share;
        let (a, b) = (within as f64, above as f64 + 1.0);
        let ln_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
        let front = (a * x.ln() + (b - 1.0) * (1.0 - x).ln() - ln_beta).exp() / a;
        let ratio = x / (x - 1.0);
        let (mut term, mut sum) = (1.0f64, 1.0);
        // The loop ends, because a term is 0 after at most `above` terms.
        let mut i = 0.0;
        while term.abs() > ENOUGH {
            term *= ((1.0 - b) + i) * ratio / ((1.0 + a) + i);
            sum += term;
            i += 1.0;
        }
        front * sum
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(percentile: f64, expected: &[(u64, u64)]) {
        let test = EarlyStopping::at(percentile).unwrap();
        for (above, within) in expected {
            assert_eq!(test.within(*above), *within, "H({above}) at {percentile}");
        }
    }

    #[test]
    fn the_needed_queries_are_those_of_loadgen() {
        check(0.9, &[(0, 44), (1, 63), (2, 79), (3, 94), (4, 109), (5, 122), (100, 1_146), (1_000, 9_722)]);
        check(0.99, &[(0, 459), (1, 661)]);
    }

    #[test]
    fn an_estimate_takes_a_query_above_the_limit_and_those_that_make_up_for_it() {
        for (percentile, least) in [(0.9, 64), (0.95, 130), (0.97, 219), (0.99, 662), (0.999, 6_636)] {
            let test = EarlyStopping::at(percentile).unwrap();
            assert_eq!(test.least_for_estimate(), least);
            assert_eq!(test.estimate_budget(least), Some(1));
            assert_eq!(test.estimate_budget(least - 1), None);
        }
    }

    #[test]
    fn a_percentile_that_nothing_proves_is_refused() {
        for percentile in [0.0, 1.0, -0.5, 99.0, f64::NAN, f64::INFINITY] {
            let message = EarlyStopping::at(percentile).unwrap_err().to_string();
            assert!(message.starts_with("target_latency_percentile is "), "{message}");
        }
        for confidence in [0.0, 1.0, f64::NAN] {
            assert!(EarlyStopping::new(0.9, 0.0, confidence).is_err());
        }
    }

    #[test]
    fn the_largest_runs_and_strangest_percentiles_have_an_answer() {
        for percentile in [1e-300, 1e-9, 0.5, 0.9, 0.999_999, 1.0 - f64::EPSILON] {
            let test = EarlyStopping::at(percentile).unwrap();
            let budget = test.budget(10_000_000);
            assert!(budget.is_none_or(|it| it < 10_000_000 && test.queries(it) <= 10_000_000), "{percentile}");
        }
    }

    proptest! {
        #[test]
        fn the_budget_is_the_last_that_passes(percentile in 0.3f64..0.999, queries in 0u64..2_000_000) {
            let test = EarlyStopping::at(percentile).unwrap();
            match test.budget(queries) {
                Some(above) => {
                    prop_assert!(test.queries(above) <= queries);
                    prop_assert!(test.queries(above + 1) > queries);
                }
                None => prop_assert!(test.queries(0) > queries),
            }
        }
    }
}
