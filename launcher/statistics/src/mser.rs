//! Finds the end of a warm-up by the marginal standard error rule MSER (White, An effective truncation heuristic for bias reduction in simulation
//! output, 1997; White, Cobb and Spratt, 2000: MSER-5 for means of five values; here the values are figures of bins).
//!
//! The rule tries each number of values to leave out at the start, and selects the one with the smallest standard error of the remaining mean.
//! Leaving out values that differ decreases the variance, but leaving out more also shortens the rest.

/// The number of values to leave out at the start. `None` if it is half of the values or more: then the warm-up does not end in the first half, and
/// the second half does not prove that it ended at all.
pub fn mser(values: &[f64]) -> Option<usize> {
    let half = values.len() / 2;
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    // Iterates from the end, so that each value is visited only once. Values are relative to their mean, so that squares keep their precision.
    let middle = crate::mean(values);
    for (place, value) in values.iter().enumerate().rev() {
        let value = value - middle;
        (count, sum, squares) = (count + 1.0, sum + value, squares + value * value);
        let variance = (squares - sum * sum / count).max(0.0);
        let error = variance / (count * count);
        // Among equal errors, the smallest number is selected.
        if place <= half && error <= best.0 {
            best = (error, place);
        }
    }
    (best.1 < half || values.len() < 2).then_some(best.1)
}
