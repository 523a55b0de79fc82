//! Quantiles of the standard normal distribution.

/// Below this probability, the approximation for the tails is used; above it, the approximation for the middle.
const TAIL: f64 = 0.02425;

/// The value that a standard normal variable exceeds with this probability. The relative error is below 1.2e-9. Infinite for a probability outside
/// the range from 0 to 1, and at its ends.
///
/// Uses the rational approximation of Acklam (An algorithm for computing the inverse normal cumulative distribution function, 2003).
pub fn upper_quantile(probability: f64) -> f64 {
    const MIDDLE_ABOVE: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const MIDDLE_BELOW: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const TAIL_ABOVE: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const TAIL_BELOW: [f64; 5] =
        [7.784_695_709_041_462e-3, 3.224_671_290_700_398e-1, 2.445_134_137_142_996, 3.754_408_661_907_416, 1.0];
    if probability <= 0.0 || probability.is_nan() {
        return f64::INFINITY;
    }
    if probability >= 1.0 {
        return f64::NEG_INFINITY;
    }
    // For a small probability p: the positive value that is exceeded with this probability.
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        -polynomial(&TAIL_ABOVE, q) / polynomial(&TAIL_BELOW, q)
    };
    if probability < TAIL {
        tail(probability)
    } else if probability > 1.0 - TAIL {
        -tail(1.0 - probability)
    } else {
        let q = 0.5 - probability;
        let r = q * q;
        q * polynomial(&MIDDLE_ABOVE, r) / polynomial(&MIDDLE_BELOW, r)
    }
}

/// Evaluates a polynomial by Horner's scheme. The coefficient of the highest power comes first.
fn polynomial(coefficients: &[f64], at: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, it| sum * at + it)
}
