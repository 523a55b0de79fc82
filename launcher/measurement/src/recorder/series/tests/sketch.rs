//! Tests the error of a sketch, and that sketches are merged exactly.

use proptest::prelude::*;

use crate::recorder::series::quantile_sketch::QuantileSketch;

const HOUR: u64 = 3_600_000_000_000;

fn sketch(times: &[u64]) -> QuantileSketch {
    let mut sketch = QuantileSketch::default();
    times.iter().for_each(|it| sketch.record(*it));
    sketch
}

/// Generates times from nanoseconds to more than one hour. Each power of two is equally likely.
fn times() -> impl Strategy<Value = Vec<u64>> {
    let time = (0_u32..44, any::<u64>()).prop_map(|(bits, draw)| (1 << bits) + draw % (1 << bits));
    prop::collection::vec(time, 1..200)
}

proptest! {
    #[test]
    fn a_percentile_is_within_its_error(mut times in times(), percent in 0_u32..=100) {
        let found = sketch(&times).percentile(percent).unwrap();
        times.sort_unstable();
        let rank = (times.len() * percent as usize).div_ceil(100).max(1);
        let expected = times[rank - 1].min(HOUR) as f64;
        prop_assert!((found - expected).abs() <= (expected / 64.0).max(600.0), "{found} and not {expected}");
    }

    #[test]
    fn sketches_are_added_exactly(left in times(), right in times()) {
        let mut sum = sketch(&left);
        sum.add(&sketch(&right));
        prop_assert_eq!(sum, sketch(&[right, left].concat()));
    }

    #[test]
    fn a_sketch_has_a_bound(times in times()) {
        prop_assert!(sketch(&times).heap_bytes() <= 28 * 132);
    }
}

#[test]
fn a_sketch_without_counts_has_no_percentile() {
    assert_eq!((QuantileSketch::default().percentile(50), QuantileSketch::default().count()), (None, 0));
}

#[test]
fn counts_that_are_full_stay_full() {
    let mut sum = sketch(&[1_000_000]);
    for _ in 0..33 {
        let same = sum.clone();
        sum.add(&same);
    }
    assert_eq!(sum.count(), u64::from(u32::MAX));
}
