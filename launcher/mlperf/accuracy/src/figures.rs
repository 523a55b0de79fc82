//! Means, rounding and printing as in numpy 1.26 and Python, so that figures have exactly the same digits. Pure.

/// Up to this length, numpy adds values with 8 running sums. It halves longer arrays first.
const BLOCK: usize = 128;
/// Number of elements that a numpy 1 reduction adds per step.
const CHUNK: usize = 8192;

/// `numpy.mean` of numpy 1; `None` if there are no values. Source: `pairwise_sum` of numpy's `loops_utils.h.src`.
pub fn mean(values: &[f64]) -> Option<f64> {
    let sum = values.chunks(CHUNK).fold(0.0, |sum, it| sum + pairwise_sum(it));
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

fn pairwise_sum(values: &[f64]) -> f64 {
    if values.len() < 8 {
        return values.iter().fold(0.0, |sum, it| sum + it);
    }
    if values.len() > BLOCK {
        let half = values.len() / 2;
        let (a, b) = values.split_at(half - half % 8);
        return pairwise_sum(a) + pairwise_sum(b);
    }
    let mut blocks = values.chunks_exact(8);
    let mut sums = [0.0; 8];
    for (index, block) in blocks.by_ref().enumerate() {
        for (sum, it) in sums.iter_mut().zip(block) {
            *sum = if index == 0 { *it } else { *sum + it };
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    let whole = ((a + b) + (c + d)) + ((e + f) + (g + h));
    blocks.remainder().iter().fold(whole, |sum, it| sum + it)
}

/// `numpy.round(value, 4)`: multiplies by 10,000, rounds to the nearest whole number (ties to even), and divides by 10,000. The result can differ
/// from Python's `round`.
pub fn round_4(value: f64) -> f64 {
    (value * 10_000.0).round_ties_even() / 10_000.0
}

/// Python's `round(value, places)`: the decimal that is nearest to the exact value; ties to even.
pub fn round(value: f64, places: usize) -> f64 {
    // Text of a finite number can always be parsed. Other values are returned unchanged.
    format!("{value:.places$}").parse().unwrap_or(value)
}

/// `repr` of a Python `float`: the shortest text that is parsed to the same value, with a decimal point or an exponent.
pub fn text(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-4..1e16).contains(&size) {
        return format!("{value:?}");
    }
    if !value.is_finite() {
        return value.to_string().to_lowercase();
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |it| ('-', it));
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_adds_in_pairs() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[0.1, 0.2, 0.3]), Some((0.1 + 0.2 + 0.3) / 3.0));
        let many = vec![0.1; 20_000];
        assert!((mean(&many).unwrap() - 0.1).abs() < 1e-15);
        // A plain sum of the values in order would be less exact.
        assert!((many.iter().sum::<f64>() / 20_000.0 - 0.1).abs() > 1e-15);
    }

    #[test]
    fn numpy_and_python_round_differently() {
        assert_eq!(round_4(38.77925), 38.7792);
        assert_eq!(round(2.5, 0), 2.0);
        assert_eq!(round(0.125, 2), 0.12);
        assert_eq!(round(86.1111, 2), 86.11);
    }

    #[test]
    fn numbers_print_as_in_python() {
        let cases = [(40.0, "40.0"), (0.0001, "0.0001"), (0.00001, "1e-05"), (1.5e16, "1.5e+16"), (0.0, "0.0")];
        for (value, expected) in cases.into_iter().chain([(8.666666666666666, "8.666666666666666"), (f64::NAN, "nan")])
        {
            assert_eq!(text(value), expected);
        }
    }
}
