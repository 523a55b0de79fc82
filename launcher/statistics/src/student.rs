//! Quantiles of Student's t distribution and of the normal distribution.

use std::f64::consts::FRAC_PI_2;

use crate::normal::upper_quantile;

/// The 97.5th percentile of the standard normal distribution, for a two-sided level of 95 %.
pub const NORMAL_95: f64 = 1.959_963_984_540_054;

/// The 99.5th percentile of the standard normal distribution, for a two-sided level of 99 %.
pub const NORMAL_99: f64 = 2.575_829_303_548_901;

/// The 97.5th percentile of Student's t for 1 to 30 degrees of freedom, as in any table of the distribution.
const TABLE: [f64; 30] = [
    12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004, 2.262_157, 2.228_139,
    2.200_985, 2.178_813, 2.160_369, 2.144_787, 2.131_450, 2.119_905, 2.109_816, 2.100_922, 2.093_024, 2.085_963,
    2.079_614, 2.073_873, 2.068_658, 2.063_899, 2.059_539, 2.055_529, 2.051_831, 2.048_407, 2.045_230, 2.042_272,
];

/// The 97.5th percentile of Student's t, for a two-sided level of 95 %. Infinite for 0 degrees of freedom.
///
/// Above 30 degrees of freedom, uses the expansion of Fisher and Cornish (Abramowitz and Stegun, 26.7.5), with an error below 1e-6.
pub fn t_95(degrees_of_freedom: usize) -> f64 {
    let Some(place) = degrees_of_freedom.checked_sub(1) else { return f64::INFINITY };
    if let Some(value) = TABLE.get(place) {
        return *value;
    }
    let (z, n) = (NORMAL_95, degrees_of_freedom as f64);
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    z + first / n + second / n.powi(2) + third / n.powi(3)
}

/// The value that the absolute value of Student's t exceeds with this probability. `two_sided(0.05, n)` equals [`t_95`]. Infinite for 0 degrees of
/// freedom, and for a probability that is not above 0.
///
/// Above two degrees of freedom, uses the method of Hill (Algorithm 396: Student's t-quantiles, Communications of the ACM 13, 1970). The relative
/// error is below 1e-4 for five or more degrees of freedom.
pub fn two_sided(probability: f64, degrees_of_freedom: usize) -> f64 {
    if probability <= 0.0 || probability.is_nan() || degrees_of_freedom == 0 {
        return f64::INFINITY;
    }
    if probability >= 1.0 {
        return 0.0;
    }
    match degrees_of_freedom {
        1 => 1.0 / (probability * FRAC_PI_2).tan(),
        2 => (2.0 / (probability * (2.0 - probability)) - 2.0).sqrt(),
        _ => hill(probability, degrees_of_freedom as f64),
    }
}

fn hill(probability: f64, n: f64) -> f64 {
    let a = 1.0 / (n - 0.5);
    let b = 48.0 / (a * a);
    let c = ((20_700.0 * a / b - 98.0) * a - 16.0) * a + 96.36;
    let d = ((94.5 / (b + c) - 3.0) / b + 1.0) * (a * FRAC_PI_2).sqrt() * n;
    let y = (d * probability).powf(2.0 / n);
    let squared = if y > 0.05 + a {
        // Near the normal distribution: an expansion around its quantile.
        let x = -upper_quantile(probability / 2.0);
        let y = x * x;
        let c = if n < 5.0 { c + 0.3 * (n - 4.5) * (x + 0.6) } else { c };
        let c = (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b + c;
        let y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x;
        (a * y * y).exp_m1()
    } else {
        let inner = 1.0 / (((n + 6.0) / (n * y) - 0.089 * d - 0.822) * (n + 2.0) * 3.0) + 0.5 / (n + 4.0);
        (inner * y - 1.0) * (n + 1.0) / (n + 2.0) + 1.0 / y
    };
    (n * squared).sqrt()
}
