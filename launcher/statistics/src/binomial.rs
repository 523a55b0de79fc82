//! Finds two ranks between which a quantile lies, by the binomial distribution.

/// Maximum probability that the quantile lies beyond each of the two ranks.
const TAIL: f64 = 0.025;

/// Returns the ranks of two order statistics, counted from 1. With a probability of at least 95 %, the `p` quantile of independent values lies
/// between them. `None` if there are so few values that the quantile may lie below the smallest or above the largest value.
///
/// The number of values below the quantile has a binomial distribution (David and Nagaraja, Order Statistics, 2003, section 7.1). The ranks are
/// exact. The time is proportional to the square root of `count`.
pub fn quantile_ranks(count: u64, p: f64) -> Option<(u64, u64)> {
    if count == 0 || !(p > 0.0 && p < 1.0) {
        return None;
    }
    let weights = Weights::new(count, p);
    // With a probability of at most TAIL, fewer than `low` values are below the quantile. In all other cases, the value with rank `low` is below it.
    let low = weights.lower_tail()?;
    let high = weights.upper_tail()?;
    (low >= 1 && high <= count).then_some((low, high))
}

/// Binomial probabilities for the numbers from `first` on. Negligible ones at both ends are left out.
struct Weights {
    first: u64,
    probabilities: Vec<f64>,
}

/// Probabilities below this multiple of the largest probability do not change a rank.
const NEGLIGIBLE: f64 = 1e-18;

impl Weights {
    fn new(count: u64, p: f64) -> Weights {
        let (n, odds) = (count as f64, p / (1.0 - p));
        // The cast rounds down. The mode (the most probable number) is less than n + 1.
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

    /// The largest n such that the probability of fewer than n values below the quantile is at most TAIL.
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

    /// The smallest n such that the probability of n or more values below the quantile is at most TAIL.
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
