//! Two ranks with a quantile between them, by the binomial distribution.

/// The probability that each rank alone misses the quantile.
const TAIL: f64 = 0.025;

/// Ranks of two order statistics, counted from 1. The `p` quantile of independent values lies between them with at least 95 %. `None` if the
/// smallest or the largest value is not extreme enough.
///
/// Of `count` independent values, the number below the quantile is binomial (David and Nagaraja, Order Statistics, 2003, section 7.1). The ranks
/// are exact. Takes time proportional to the square root of `count`.
pub fn quantile_ranks(count: u64, p: f64) -> Option<(u64, u64)> {
    if count == 0 || !(p > 0.0 && p < 1.0) {
        return None;
    }
    let weights = Weights::new(count, p);
    // Fewer than `low` values are below the quantile with at most TAIL. Otherwise value `low` is below it.
    let low = weights.lower_tail()?;
    let high = weights.upper_tail()?;
    (low >= 1 && high <= count).then_some((low, high))
}

/// The binomial probabilities from `first` on, except negligible ones.
struct Weights {
    first: u64,
    probabilities: Vec<f64>,
}

/// A probability this small relative to the probability of the mode changes no rank.
const NEGLIGIBLE: f64 = 1e-18;

impl Weights {
    fn new(count: u64, p: f64) -> Weights {
        let (n, odds) = (count as f64, p / (1.0 - p));
        // The cast rounds down. The mode is below n + 1.
        let mode = (((n + 1.0) * p) as u64).min(count);
        let mut below = Vec::new();
        let (mut k, mut weight) = (mode, 1.0);
        while k > 0 && weight > NEGLIGIBLE {
            weight *= k as f64 / ((n - k as f64 + 1.0) * odds);
            k -= 1;
            below.push(weight);
        }
        let first = k;
        below.reverse();
        let mut weights = below;
        weights.push(1.0);
        let (mut k, mut weight) = (mode, 1.0);
        while k < count && weight > NEGLIGIBLE {
            weight *= (n - k as f64) * odds / (k as f64 + 1.0);
            k += 1;
            weights.push(weight);
        }
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|it| *it /= total);
        Weights { first, probabilities: weights }
    }

    /// The largest number such that the count is below it with at most TAIL.
    fn lower_tail(&self) -> Option<u64> {
        let mut below = 0.0;
        for (place, probability) in self.probabilities.iter().enumerate() {
            below += probability;
            if below > TAIL {
                return Some(self.first + place as u64);
            }
        }
        None
    }

    /// The smallest number such that the count reaches it with at most TAIL.
    fn upper_tail(&self) -> Option<u64> {
        let mut from = 0.0;
        for (place, probability) in self.probabilities.iter().enumerate().rev() {
            from += probability;
            if from > TAIL {
                return Some(self.first + place as u64 + 1);
            }
        }
        None
    }
}
