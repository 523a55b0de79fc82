//! Where a warm-up ends, by the marginal standard error rule MSER (White, An effective truncation heuristic for bias reduction in simulation output, 1997;
//! White, Cobb and Spratt, 2000: MSER-5 for means of five values; here the values are figures of bins).
//!
//! The rule tries each number of leading values to leave out, and selects the number with the smallest standard error of the remaining mean. Leaving
//! out values that differ lowers the variance; leaving out more shortens the rest.

/// The number of leading values to leave out. `None` if that is half of them or more: the warm-up does not end in the first half then, and the
/// second half does not prove that it ended.
pub fn mser(values: &[f64]) -> Option<usize> {
    let half = values.len() / 2;
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    // Iterates from the end, so that each value is visited once. Values are relative to their mean, so that squares lose no digits.
    let middle = crate::mean(values);
    for (place, value) in values.iter().enumerate().rev() {
        let value = value - middle;
        (count, sum, squares) = (count + 1.0, sum + value, squares + value * value);
        let variance = (squares - sum * sum / count).max(0.0);
        let error = variance / (count * count);
        // The earliest among equals.
        if place <= half && error <= best.0 {
            best = (error, place);
        }
    }
    (best.1 < half || values.len() < 2).then_some(best.1)
}
