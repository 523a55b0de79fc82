//! The interval of a quantile by the circular block bootstrap (Politis and Romano, 1992). Reports do not use this method. It is compared here with
//! the order statistics that reports use.
//!
//! Blocks of successive values are drawn with replacement until their total length equals the number of values. The quantiles of many such draws vary
//! like the quantile of the original values. The length of a block is n^(1/3) x t^(2/3), where t is the autocorrelation time. So blocks are longer if
//! values depend more on each other. The growth with n is optimal for estimating a variance (Politis and White, Automatic block-length selection,
//! 2004).

use statistics::{Interval, effective_sample_size::autocorrelation_time};

use crate::processes::Random;

const RESAMPLES: usize = 500;
/// Number of values that are tried as the quantile of a draw.
const CANDIDATES: usize = 96;

/// The interval between two percentiles of the quantiles of all draws.
pub fn quantile(values: &[f64], sorted: &[f64], p: f64, random: &mut Random) -> Interval {
    let count = values.len();
    let time = autocorrelation_time(values);
    let length = ((count as f64).cbrt() * time.powf(2.0 / 3.0)).ceil().min(count as f64) as usize;
    // Candidates are the values within eight standard errors of the quantile. The standard error takes the correlation into account.
    let spread = 8.0 * (count as f64 * p * (1.0 - p) * time).sqrt();
    let middle = count as f64 * p;
    let candidates: Vec<f64> = (0..CANDIDATES)
        .map(|it| {
            let rank = middle + spread * (2.0 * it as f64 / (CANDIDATES - 1) as f64 - 1.0);
            sorted[(rank.max(0.0) as usize).min(count - 1)]
        })
        .collect();
    // For each position, the number of values before it that are at or below each candidate. So the counts of a block are the difference of two rows.
    let mut at_most = vec![0_u32; (2 * count + 1) * CANDIDATES];
    for place in 0..2 * count {
        let below = candidates.partition_point(|it| *it < values[place % count]);
        let (before, row) = at_most.split_at_mut((place + 1) * CANDIDATES);
        let before = &before[place * CANDIDATES..];
        for candidate in 0..CANDIDATES {
            row[candidate] = before[candidate] + u32::from(candidate >= below);
        }
    }
    let blocks = count.div_ceil(length);
    let needed = (p * (blocks * length) as f64).ceil() as u32;
    let mut found: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let starts: Vec<usize> = (0..blocks).map(|_| random.below(count)).collect();
            let sum = |candidate: usize| {
                let of_block = |start: &usize| {
                    at_most[(start + length) * CANDIDATES + candidate] - at_most[start * CANDIDATES + candidate]
                };
                starts.iter().map(of_block).sum::<u32>()
            };
            let (mut low, mut high) = (0, CANDIDATES - 1);
            while low < high {
                let middle = (low + high) / 2;
                if sum(middle) >= needed { high = middle } else { low = middle + 1 }
            }
            candidates[low]
        })
        .collect();
    found.sort_unstable_by(f64::total_cmp);
    Interval { low: found[RESAMPLES / 40], high: found[RESAMPLES - 1 - RESAMPLES / 40] }
}
