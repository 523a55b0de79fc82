//! A Poisson process conditioned on its count: exponential gaps, rescaled so that their sum is the duration. Request k is
//! due at the sum of the first k gaps, and so the last one exactly at the end. inference-perf calls it `constant`.

use std::time::Duration;

use rand::{Rng, RngExt as _};
use rand_distr::Exp1;

use super::nanos;

/// `count` times in order within `duration`, in nanoseconds. The rate is count / duration: rescaling cancels any other.
pub(super) fn times(duration: Duration, count: u64, rng: &mut impl Rng) -> Vec<u64> {
    let mut sum = 0.0;
    let mut place = || {
        sum += rng.sample::<f64, _>(Exp1);
        sum
    };
    // First the sums as bits of floating-point numbers, then the times in their place: no second array of millions.
    let mut times: Vec<u64> = (0..count).map(|_| place().to_bits()).collect();
    let length = nanos(duration);
    for time in &mut times {
        // The last quotient is exactly 1.
        *time = ((f64::from_bits(*time) / sum * length as f64).round() as u64).min(length);
    }
    times
}
