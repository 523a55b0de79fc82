//! Spread between runs of the same load, apart from the spread within each of them.
//!
//! Requests of one run depend on each other, because they share a queue and a cache. So the spread of a mean between runs is often
//! larger than the requests of one run suggest, and only repeats show it.

/// The most repeats of a load: what [`T_975`] has quantiles for.
pub const MAX_REPEATS: usize = 30;

/// Quantiles 0.975 of Student's t distribution for 1, 2, 3 and so on degrees of freedom. NIST/SEMATECH e-Handbook of Statistical
/// Methods, section 1.3.6.7.2.
#[rustfmt::skip]
const T_975: [f64; MAX_REPEATS - 1] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045,
];

/// One figure over several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Mean of the values of the runs.
    pub mean: f64,
    /// Standard deviation between runs: the squares are divided by the number of runs less one.
    pub stddev: f64,
    pub min: f64,
    pub max: f64,
    /// The 95 % interval of the mean: mean +- t(0.975, runs - 1) x stddev / sqrt(runs). Runs are taken as independent and
    /// normally distributed.
    pub interval: [f64; 2],
}

impl Spread {
    /// `None` for fewer than two values, for more than [`MAX_REPEATS`], and for values that are not finite.
    pub fn new(values: &[f64]) -> Option<Spread> {
        let count = values.len();
        let t = T_975.get(count.checked_sub(2)?)?;
        if !values.iter().all(|it| it.is_finite()) {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|it| (it - mean).powi(2)).sum();
        let stddev = (squares / (count - 1) as f64).sqrt();
        let half = t * stddev / (count as f64).sqrt();
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Some(Spread { mean, stddev, min, max, interval: [mean - half, mean + half] })
    }
}

/// The standard error of a mean that the requests within the runs suggest, as if they were independent: the root of the mean of
/// stddev^2 / count over the runs. `within`: standard deviation and count of the requests of each run; `None` where a run has none.
pub fn standard_error_within(within: &[(f64, u64)]) -> Option<f64> {
    let usable = !within.is_empty() && within.iter().all(|(_, count)| *count > 0);
    let squares = || within.iter().map(|(stddev, count)| stddev * stddev / *count as f64).sum::<f64>();
    usable.then(|| (squares() / within.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_known_values() {
        let found = Spread::new(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((found.mean, found.min, found.max), (5.0, 2.0, 9.0));
        assert!((found.stddev - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        let half = 2.365 * found.stddev / 8.0_f64.sqrt();
        assert!((found.interval[0] - (5.0 - half)).abs() < 1e-12 && (found.interval[1] - (5.0 + half)).abs() < 1e-12);
        assert_eq!(Spread::new(&[3.0, 3.0]).unwrap().interval, [3.0, 3.0]);
        assert_eq!(Spread::new(&[1.0]), None);
        assert_eq!(Spread::new(&[1.0; MAX_REPEATS + 1]), None);
        assert_eq!(Spread::new(&[1.0, f64::NAN]), None);
        assert!(Spread::new(&[1.0; MAX_REPEATS]).is_some());
    }

    #[test]
    fn the_error_within_is_that_of_independent_requests() {
        assert_eq!(standard_error_within(&[(10.0, 100), (10.0, 100)]), Some(1.0));
        assert_eq!(standard_error_within(&[(10.0, 100), (0.0, 0)]), None);
        assert_eq!(standard_error_within(&[]), None);
    }
}
