//! Formats numbers as C's printf does, which LoadGen's logs use.

/// Formats as `%g`: six significant digits without trailing zeros, in scientific notation below 1e-4 and from 1e6 on. Non-finite values are
/// `inf`, `-inf`, `nan` or `-nan`.
pub fn general(value: f64) -> String {
    const DIGITS: i32 = 6;
    if !value.is_finite() {
        return not_finite(value).into();
    }
    // The exponent must come from the rounded value: 999999.5 is rounded to a number with seven digits.
    let rounded = format!("{value:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS - 1 - exponent).unwrap_or_default();
        return stripped(&format!("{value:.decimals$}")).into();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", stripped(mantissa), exponent.unsigned_abs())
}

/// Formats as `%g`, but writes non-finite values as extended JSON readers accept them: `Infinity`, `-Infinity`, `NaN`.
pub fn general_json(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ => general(value),
    }
}

/// Returns what a JSON reader gets from a value that [`general_json`] wrote: a number with six significant digits, or a string for a non-finite
/// value.
pub fn rounded(value: f64) -> serde_json::Value {
    let text = general_json(value);
    text.parse().map_or_else(|_| text.into(), serde_json::Value::Number)
}

/// Formats as `%.Nf`.
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { not_finite(value).into() }
}

/// Returns the label of a percentile. With two decimals, 0.999 becomes `99.90`.
pub fn label(percentile: f64, decimals: usize) -> String {
    fixed(percentile * 100.0, decimals)
}

fn not_finite(value: f64) -> &'static str {
    match (value.is_nan(), value.is_sign_negative()) {
        (true, false) => "nan",
        (true, true) => "-nan",
        (false, false) => "inf",
        (false, true) => "-inf",
    }
}

/// Removes trailing zeros of the fraction.
fn stripped(decimal: &str) -> &str {
    if decimal.contains('.') { decimal.trim_end_matches('0').trim_end_matches('.') } else { decimal }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(value: f64, expected: &str) {
        assert_eq!(general(value), expected, "{value:?}");
    }

    #[test]
    fn six_significant_digits_remain() {
        check(0.0, "0");
        check(-0.0, "-0");
        check(200.0, "200");
        check(0.9, "0.9");
        check(181.402_7, "181.403");
        check(846.093_75, "846.094");
        check(-1.5, "-1.5");
        check(0.1 + 0.2, "0.3");
    }

    #[test]
    fn the_exponent_of_the_rounded_value_chooses_the_form() {
        check(100_000.0, "100000");
        check(999_999.0, "999999");
        check(999_999.4, "999999");
        check(999_999.5, "1e+06");
        check(1_000_000.0, "1e+06");
        check(1_234_567.0, "1.23457e+06");
        check(0.000_1, "0.0001");
        check(0.000_099_999_96, "0.0001");
        check(0.000_099_99, "9.999e-05");
        check(3.058_62e-5, "3.05862e-05");
        check(1e100, "1e+100");
        check(5e-324, "4.94066e-324");
    }

    #[test]
    fn halves_that_are_exact_round_to_even() {
        check(100_000.5, "100000");
        check(100_001.5, "100002");
        assert_eq!(fixed(0.125, 2), "0.12");
        assert_eq!(fixed(0.375, 2), "0.38");
        assert_eq!(fixed(2.5, 0), "2");
    }

    #[test]
    fn what_is_not_finite_has_a_form_for_text_and_one_for_json() {
        check(f64::INFINITY, "inf");
        check(f64::NEG_INFINITY, "-inf");
        check(f64::NAN.copysign(1.0), "nan");
        check(f64::NAN.copysign(-1.0), "-nan");
        assert_eq!(fixed(f64::INFINITY, 2), "inf");
        assert_eq!(general_json(f64::INFINITY), "Infinity");
        assert_eq!(general_json(f64::NEG_INFINITY), "-Infinity");
        assert_eq!(general_json(f64::NAN), "NaN");
        assert_eq!(general_json(0.5), "0.5");
    }

    #[test]
    fn a_rounded_value_is_a_number_of_json_or_a_word() {
        let check = |value: f64, expected: &str| assert_eq!(rounded(value).to_string(), expected);
        check(181.402_7, "181.403");
        check(200.0, "200");
        check(1_234_567.0, "1234570.0");
        check(-0.0, "-0.0");
        check(f64::NAN, "\"NaN\"");
        check(f64::NEG_INFINITY, "\"-Infinity\"");
    }

    #[test]
    fn percentiles_have_the_labels_of_the_logs() {
        assert_eq!(label(0.999, 2), "99.90");
        assert_eq!(label(0.5, 2), "50.00");
        assert_eq!(label(0.97, 1), "97.0");
    }

    proptest! {
        #[test]
        fn it_reads_back_to_within_half_a_unit_of_the_sixth_digit(value in prop::num::f64::NORMAL) {
            let text = general(value);
            let back: f64 = text.parse().unwrap();
            // If the value is close to the largest double, rounding can exceed the range.
            if back.is_finite() {
                prop_assert!((back - value).abs() <= value.abs() * 5.000_001e-6, "{} is {}", value, text);
            }
            prop_assert!(text.trim_start_matches('-').split('e').next().unwrap().len() <= 11, "{}", text);
        }
    }
}
