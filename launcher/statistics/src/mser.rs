//! Where a warm-up ends, by the marginal standard error rule MSER (White, An effective truncation heuristic for bias reduction in simulation output, 1997;
//! White, Cobb and Spratt, 2000: MSER-5 for means of five values; here the values are figures of bins).
//!
//! Of all beginnings that could be left out, the rule takes the one after which the mean of the rest is surest: to leave out
//! what differs makes the rest vary less, to leave out more makes it shorter.

/// The number of values to leave out at the begin. `None` where that is half of them or more: there is no end of a warm-up in the
/// first half then, and the second half is no proof of one.
pub fn mser(values: &[f64]) -> Option<usize> {
    let half = values.len() / 2;
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    // From the end, so that each value is looked at once. Values from their mean, so that squares lose no digits.
    let middle = crate::mean(values);
    for (place, value) in values.iter().enumerate().rev() {
        let value = value - middle;
        (count, sum, squares) = (count + 1.0, sum + value, squares + value * value);
        let variance = (squares - sum * sum / count).max(0.0);
        let error = variance / (count * count);
        // The earliest of equals.
        if place <= half && error <= best.0 {
            best = (error, place);
        }
    }
    (best.1 < half || values.len() < 2).then_some(best.1)
}
