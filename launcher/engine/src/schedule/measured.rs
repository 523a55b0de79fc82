//! Computes rates that depend on earlier stages. Sources: `sweep` of inference-perf and of GuideLLM.

use std::time::Duration;

use workload_profiles::workload::Spacing;

/// Minimum number of falls from which a percentile is computed.
const LEAST_FALLS: usize = 2;

/// Returns the rate, in requests per second, at `position` between two rates. `position` is from 0 to 1. The rate is rounded to two
/// decimals, as in inference-perf, unless that would make it 0.
pub fn between(from: f64, to: f64, position: f64, spacing: Spacing) -> f64 {
    let exact = match spacing {
        Spacing::Linear => from + (to - from) * position,
        Spacing::TowardsEnd => from + to - to * (from / to).powf(position),
    };
    let rounded = (exact * 100.0).round() / 100.0;
    if rounded == 0.0 { exact } else { rounded }
}

/// Returns how fast requests ended, in requests per second. A sample is a time and the number of requests in flight at that time. Each fall of the
/// number between two consecutive samples yields a rate. The result is a percentile of these rates, with linear interpolation.
///
/// # Errors
/// The number of requests in flight fell fewer than two times. The error is how often it fell.
pub fn drain_rate(samples: &[(Duration, u64)], percentile: f64) -> Result<f64, usize> {
    let fall = |pair: &[(Duration, u64)]| {
        let [(before, more), (after, fewer)] = pair else { return None };
        let ended = more.checked_sub(*fewer).filter(|it| *it > 0)?;
        let seconds = after.saturating_sub(*before).as_secs_f64();
        (seconds > 0.0).then(|| ended as f64 / seconds)
    };
    let mut falls: Vec<f64> = samples.windows(2).filter_map(fall).collect();
    if falls.len() < LEAST_FALLS {
        return Err(falls.len());
    }
    falls.sort_unstable_by(f64::total_cmp);
    let place = (percentile / 100.0).clamp(0.0, 1.0) * (falls.len() - 1) as f64;
    let (below, above) = (falls[place.floor() as usize], falls[place.ceil() as usize]);
    Ok(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rates(from: f64, to: f64, count: u32, spacing: Spacing) -> Vec<f64> {
        (0..count).map(|it| between(from, to, f64::from(it) / f64::from(count - 1), spacing)).collect()
    }

    #[test]
    fn rates_lie_evenly_or_closer_towards_the_end() {
        assert_eq!(rates(1.0, 10.0, 4, Spacing::Linear), [1.0, 4.0, 7.0, 10.0]);
        // 17 minus the terms of the geometric series 16, 8, 4, 2, 1.
        assert_eq!(rates(1.0, 16.0, 5, Spacing::TowardsEnd), [1.0, 9.0, 13.0, 15.0, 16.0]);
        assert_eq!(rates(1.0, 10.0, 3, Spacing::TowardsEnd), [1.0, 7.84, 10.0]);
        // A falling rate: the server handles fewer requests per second under high load.
        assert_eq!(rates(10.0, 4.0, 3, Spacing::Linear), [10.0, 7.0, 4.0]);
    }

    #[test]
    fn rounding_makes_no_rate_nothing() {
        assert_eq!(between(0.001, 0.004, 1.0, Spacing::Linear), 0.004);
        assert_eq!(between(0.001, 0.006, 1.0, Spacing::Linear), 0.01);
    }

    fn drain(numbers: &[u64], percentile: f64) -> Result<f64, usize> {
        let samples: Vec<_> = (0..).zip(numbers).map(|(at, it)| (Duration::from_millis(500 * at), *it)).collect();
        drain_rate(&samples, percentile)
    }

    #[test]
    fn the_drain_rate_is_a_percentile_of_the_falls() {
        // The number falls by 10, 20 and 30, each within half a second. Intervals in which it rises or stays the same do not count.
        let numbers = [0, 50, 80, 70, 70, 50, 55, 25];
        for (percentile, expected) in [(0.0, 20.0), (50.0, 40.0), (75.0, 50.0), (100.0, 60.0)] {
            assert_eq!(drain(&numbers, percentile), Ok(expected));
        }
        assert_eq!(drain(&numbers, 95.0), Ok(58.0));
        assert_eq!(drain(&[0, 9, 4, 4], 50.0), Err(1));
        assert_eq!(drain(&[], 50.0), Err(0));
    }

    proptest! {
        #[test]
        fn rates_stay_between_their_bounds_and_rise_with_the_position(
            from in 0.01_f64..100.0, more in 0.0_f64..1e4, positions in (0.0_f64..=1.0, 0.0_f64..=1.0),
        ) {
            let (low, high) = (positions.0.min(positions.1), positions.0.max(positions.1));
            for spacing in [Spacing::Linear, Spacing::TowardsEnd] {
                let (low, high) = (between(from, from + more, low, spacing), between(from, from + more, high, spacing));
                prop_assert!(low <= high + 1e-9, "{low} {high}");
                // Rounding to hundredths changes a rate by at most half a hundredth.
                prop_assert!(low >= from - 0.0051 && high <= from + more + 0.0051, "{low} {high}");
            }
        }

        #[test]
        fn a_percentile_of_falls_is_between_the_least_and_the_greatest(
            numbers in prop::collection::vec(0_u64..1_000, 2..40), percentile in 0.0_f64..=100.0,
        ) {
            let (Ok(least), Ok(found), Ok(most)) = (drain(&numbers, 0.0), drain(&numbers, percentile), drain(&numbers, 100.0))
            else { return Ok(()) };
            prop_assert!(least <= found && found <= most, "{least} {found} {most}");
        }
    }
}
