//! Tests how often intervals contain the true value, over 1,000 draws. `make statistics-coverage` prints the whole table.

use statistics::{batch_means::mean_with_interval, order_statistics::quantile};

use crate::processes::{Process, QUANTILES, Random};

const DRAWS: u64 = 1_000;

/// The shares of intervals that contain the true mean, p50, p90 and p99; NaN if there are no intervals.
fn coverage(process: Process, count: usize) -> [f64; 4] {
    let mut held = [0_u64; 4];
    let mut given = [0_u64; 4];
    for draw in 0..DRAWS {
        let values = process.draw(count, &mut Random(draw << 20));
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let mean = mean_with_interval(&values).unwrap();
        let quantiles = QUANTILES.map(|(p, normal)| {
            (quantile(&values, &sorted, p, mean.effective_values).unwrap(), process.quantile(p, normal))
        });
        for (place, (estimate, truth)) in [(mean, process.mean())].into_iter().chain(quantiles).enumerate() {
            given[place] += u64::from(estimate.interval.is_some());
            held[place] += u64::from(estimate.interval.is_some_and(|it| it.contains(truth)));
        }
    }
    std::array::from_fn(|it| held[it] as f64 / given[it] as f64)
}

fn check(process: Process, count: usize, mean: (f64, f64), quantiles: (f64, f64)) {
    let found = coverage(process, count);
    for (place, share) in found.into_iter().enumerate() {
        let (low, high) = if place == 0 { mean } else { quantiles };
        assert!(low <= share && share <= high, "{process:?} of {count}: {found:?}");
    }
}

#[test]
fn intervals_of_independent_values_hold_the_truth() {
    check(Process::Exponential, 1_000, (0.92, 0.98), (0.93, 0.99));
}

#[test]
fn intervals_of_correlated_values_hold_the_truth() {
    check(Process::Autoregressive(0.5), 2_000, (0.92, 0.98), (0.92, 0.99));
    check(Process::Autoregressive(0.9), 10_000, (0.90, 0.98), (0.90, 0.99));
}

#[test]
fn values_of_a_queue_that_are_worth_few_have_a_wide_interval() {
    let truth = Process::Queue(0.9).mean();
    let (mut held, mut wide) = (0, 0);
    for draw in 0..100 {
        let values = Process::Queue(0.9).draw(300, &mut Random(draw << 20));
        let found = mean_with_interval(&values).unwrap();
        let interval = found.interval.unwrap();
        held += u64::from(interval.contains(truth));
        wide += u64::from(interval.high - interval.low > found.value.unwrap());
    }
    // With the formula for independent values, only 9 of 100 intervals would contain the true value.
    assert!(held > 60 && wide > 60, "{held} {wide}");
    assert_eq!(mean_with_interval(&[1.0; 7]).unwrap().interval, None);
}
