use proptest::prelude::*;

use super::*;
use crate::Distribution;

fn histogram(nanos: &[u64]) -> TimeHistogram {
    let mut times = TimeHistogram::default();
    nanos.iter().for_each(|it| times.record(Duration::from_nanos(*it)));
    times
}

fn points(nanos: &[u64]) -> Vec<(f64, Duration)> {
    DistributionFunction::new(&histogram(nanos), None).unwrap().points
}

#[test]
fn one_to_a_thousand_has_a_point_at_each_share() {
    let all: Vec<u64> = (1..=1_000).collect();
    let found = points(&all);
    // The smallest value (share 0) is also the 0.1st percentile, so the two share one point.
    assert_eq!(found.len(), 117);
    // Each value below 2,048 ns is counted in a separate bin.
    assert!(found.iter().all(|(share, time)| (share * 1_000.0 - time.as_nanos() as f64).abs() < 1e-9), "{found:?}");
    let at = |place: usize| found[place].1.as_nanos();
    assert_eq!((at(0), at(8), at(9), at(10), at(107), at(108), at(116)), (1, 9, 10, 20, 990, 991, 999));
}

#[test]
fn equal_values_are_one_point_with_all_of_them() {
    assert_eq!(points(&[7; 50]), [(1.0, Duration::from_nanos(7))]);
    let two = points(&[[5; 3], [9; 3]].concat());
    assert_eq!(two, [(0.5, Duration::from_nanos(5)), (1.0, Duration::from_nanos(9))]);
    assert_eq!(DistributionFunction::new(&TimeHistogram::default(), None), None);
}

#[test]
fn the_largest_values_of_many_are_beyond_the_last_point() {
    let mut all = vec![1_000; 9_990];
    all.extend([2_000; 10]);
    assert_eq!(points(&all), [(0.999, Duration::from_nanos(1_000))]);
}

proptest! {
    #[test]
    fn points_rise_and_lie_on_the_function(nanos in prop::collection::vec(0_u64..3_600_000_000_000, 1..2_000)) {
        let found = points(&nanos);
        prop_assert!(!found.is_empty() && found.len() <= 118, "{}", found.len());
        prop_assert!(found.is_sorted_by(|one, other| one.0 < other.0 && one.1 < other.1), "{found:?}");
        for (share, time) in &found {
            let near = time.as_nanos() as f64 * 0.000_5 + 1.0;
            let below = |bound: f64| nanos.iter().filter(|it| **it as f64 <= bound).count() as f64 / nanos.len() as f64;
            let time = time.as_nanos() as f64;
            prop_assert!(below(time - near - 1.0) <= *share && *share <= below(time + near), "{share} {time}");
        }
    }

    #[test]
    fn points_are_the_percentiles_of_the_figures(nanos in prop::collection::vec(0_u64..1_000_000_000, 1..500)) {
        let times = histogram(&nanos);
        let (found, figures) = (points(&nanos), Distribution::of_times(&times).unwrap());
        let first = |wanted: f64| found.iter().find(|(share, _)| *share >= wanted).map(|it| it.1);
        for (share, figure) in [(0.001, figures.p0p1), (0.5, figures.p50), (0.9, figures.p90), (0.99, figures.p99)] {
            prop_assert_eq!(first(share), Some(figure));
        }
    }
}
