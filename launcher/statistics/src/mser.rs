//! Finds the end of a warm-up by the marginal standard error rule MSER (White, An effective truncation heuristic for bias reduction in simulation
//! output, 1997). White, Cobb and Spratt (2000) apply it to means of five values (MSER-5); here it is applied to figures of bins.
//!
//! The rule tries each number of values to leave out at the start, and selects the number with the smallest standard error of the mean of the rest.
//! Leaving out values of the warm-up decreases the variance. But leaving out more values also shortens the rest, which increases the error.

/// The number of values to leave out at the start. `None` if it is half of the values or more, because the remaining values then do not prove that
/// the warm-up has ended.
pub fn mser(values: &[f64]) -> Option<usize> {
    let half = values.len() / 2;
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    // Iterates from the end, so that each value is visited only once. Uses distances from the mean, so that squares keep their precision.
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
