//! Even arrivals: request i is due at i / rate. In the variant whose first request comes after a gap, as in `constant` of GuideLLM and in
//! AIPerf, it is due at (i + 1) / rate. Each time is computed from the request number, so rounding errors do not accumulate.

/// Returns the whole numbers from `first` on.
pub(super) fn positions(first: u32) -> impl Iterator<Item = f64> {
    // The conversion is exact, because a schedule has far fewer than 2^53 requests.
    (0_u64..).map(move |number| number as f64 + f64::from(first))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use workload_profiles::workload::Arrivals;

    use crate::schedule::tests::{steady, times};

    fn check(arrivals: Arrivals, rate: f64, count: u64, expected: &[u64]) {
        let micros: Vec<u64> =
            times(&steady(arrivals, rate, None, Some(count)), 1).iter().map(|it| it.as_micros() as u64).collect();
        assert_eq!(micros, expected);
    }

    #[test]
    fn requests_are_evenly_spaced_from_the_start_or_from_the_first_gap_on() {
        check(Arrivals::Constant, 4.0, 4, &[0, 250_000, 500_000, 750_000]);
        check(Arrivals::ConstantAfterGap, 4.0, 4, &[250_000, 500_000, 750_000, 1_000_000]);
    }

    #[test]
    fn a_duration_ends_before_the_request_that_would_be_due_at_its_end() {
        let count = |arrivals| times(&steady(arrivals, 10.0, Some(3), None), 1).len();
        assert_eq!(count(Arrivals::Constant), 30);
        // Due times are 0.1 s to 3.0 s: the last gap ends together with the duration.
        assert_eq!(count(Arrivals::ConstantAfterGap), 30);
    }

    proptest! {
        #[test]
        fn no_rounding_adds_up(rate in 1_u64..100_000, number in 0_u64..50_000) {
            let load = steady(Arrivals::Constant, rate as f64, None, Some(number + 1));
            let last = *times(&load, 1).last().unwrap();
            let exact = u128::from(number) * 1_000_000_000 / u128::from(rate);
            prop_assert!(last.as_nanos().abs_diff(exact) <= 1, "{last:?} and not {exact} ns");
        }
    }
}
