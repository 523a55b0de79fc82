//! Converts percentiles of times to figures.

use std::time::Duration;

use analysis::Distribution;
use measurement::histogram::TimeHistogram;

/// The percentiles that are reported for errors and lags. The text is the suffix of the figure's name.
pub(super) const PERCENTILES: [(&str, Pick); 2] = [("p50", |it| it.p50), ("p99", |it| it.p99)];

pub(super) type Pick = fn(&Distribution<Duration>) -> Duration;

/// Picks a value of a histogram of times, in milliseconds. NaN without times.
pub(super) fn of_times_ms(times: &TimeHistogram, pick: Pick) -> f64 {
    Distribution::of_times(times).map_or(f64::NAN, |it| pick(&it).as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_times_have_no_percentile() {
        let mut times = TimeHistogram::default();
        for (_, pick) in PERCENTILES {
            assert!(of_times_ms(&times, pick).is_nan());
        }
        times.record(Duration::from_millis(3));
        for (_, pick) in PERCENTILES {
            assert!((of_times_ms(&times, pick) - 3.0).abs() < 0.01);
        }
    }
}
