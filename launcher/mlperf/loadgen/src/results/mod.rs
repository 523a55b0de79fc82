//! Results: the figures that LoadGen computes from the measurements of a performance phase.
//!
//! Compatible with LoadGen, even where it seems to be mistaken. For example, rates in the Server scenario are divided by the completion time of the
//! query that was issued last, although another query may complete later. [`corrected`] computes the values without such quirks. Each series is
//! sorted only once, so that each figure is a lookup.

pub mod completion;
pub mod corrected;
pub mod early_stopping;
pub mod early_stopping_outcome;
pub mod figures;
pub mod forecast;
pub mod validity;

use serde::{Deserialize, Serialize};
use workload_profiles::loadgen::{Effective, Scenario, Settings};

/// The percentiles in the logs.
pub const PERCENTILES: [f64; 6] = [0.50, 0.90, 0.95, 0.97, 0.99, 0.999];

/// The measurements of a performance phase. Latencies are in nanoseconds, in the order of the samples' sequence numbers.
///
/// The lists contain only completed samples, because a failed sample has no latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseResult {
    /// The latency of each sample, from the scheduled time of its query.
    pub sample_latencies_ns: Vec<i64>,
    /// The latency of each query, until its last sample is complete. MultiStream only.
    pub query_latencies_ns: Vec<i64>,
    /// The latency of each sample's first token. Only with token latencies, and not in Offline.
    pub first_token_latencies_ns: Vec<i64>,
    /// The time per output token of each sample. Only with token latencies. Negative if a sample has fewer than two tokens.
    pub time_per_output_token_ns: Vec<i64>,
    /// The number of output tokens of each sample. Only with token latencies.
    pub tokens_per_sample: Vec<i64>,
    /// Number of queries issued.
    pub queries_issued: u64,
    /// The largest sample latency, in seconds.
    pub max_latency_s: f64,
    /// When the last issued query was scheduled, in seconds from the start of the phase.
    pub final_query_scheduled_time_s: f64,
    /// When the last issued query was issued, in seconds from the start of the phase.
    pub final_query_issued_time_s: f64,
    /// When all samples of the last issued query were complete, in seconds from the start of the phase.
    pub final_query_all_samples_done_time_s: f64,
}

/// A series of values of the same kind, sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    ascending: Vec<i64>,
    sum: i128,
}

impl Series {
    /// Creates a series from values in any order.
    pub fn from_values(values: &[i64]) -> Series {
        let mut ascending = values.to_vec();
        ascending.sort_unstable();
        Series { sum: values.iter().map(|it| i128::from(*it)).sum(), ascending }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.ascending.len() as u64
    }

    /// Returns the sum of the values.
    pub fn sum(&self) -> i128 {
        self.sum
    }

    /// Returns the smallest value. Like all figures here, it is 0 if the series is empty.
    pub fn min(&self) -> i64 {
        self.ascending.first().copied().unwrap_or_default()
    }

    /// Returns the largest value.
    pub fn max(&self) -> i64 {
        self.ascending.last().copied().unwrap_or_default()
    }

    /// Returns the mean, truncated to an integer.
    pub fn mean(&self) -> i64 {
        let mean = self.sum / i128::from(self.count()).max(1);
        i64::try_from(mean).expect("a mean is between the smallest and the largest value")
    }

    /// Returns the value at position `count * percentile` (rounded down) in ascending order. LoadGen does not interpolate.
    pub fn percentile(&self, percentile: f64) -> i64 {
        self.at(percentile_place(self.count(), percentile))
    }

    /// Returns the value at a position in ascending order, counted from 0. Beyond the end, returns the last value.
    pub fn at(&self, place: u64) -> i64 {
        let place = usize::try_from(place).unwrap_or(usize::MAX).min(self.ascending.len().saturating_sub(1));
        self.ascending.get(place).copied().unwrap_or_default()
    }

    /// Returns how many values are above a limit.
    pub fn over(&self, limit: u64) -> u64 {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        (self.ascending.len() - self.ascending.partition_point(|it| *it <= limit)) as u64
    }
}

/// Returns the position of a percentile among `count` values in ascending order, counted from 0.
pub(crate) fn percentile_place(count: u64, percentile: f64) -> u64 {
    (count as f64 * percentile) as u64
}

/// The figures of a performance phase, and the settings that they are compared with.
#[derive(Clone, Debug)]
pub struct Results<'a> {
    /// The measurements.
    pub measured: &'a PhaseResult,
    /// The settings as requested.
    pub settings: &'a Settings,
    /// The settings that the phase ran with.
    pub effective: &'a Effective,
    /// Latencies of samples.
    pub samples: Series,
    /// Latencies of queries; empty except in MultiStream.
    pub queries: Series,
    /// Latencies of first tokens; empty in Offline and without token latencies.
    pub first_tokens: Series,
    /// Times per output token; empty in Offline and without token latencies.
    pub per_token: Series,
    /// Total number of output tokens.
    pub tokens: i128,
}

impl<'a> Results<'a> {
    /// Computes the figures.
    pub fn new(measured: &'a PhaseResult, settings: &'a Settings, effective: &'a Effective) -> Results<'a> {
        let series =
            |wanted: bool, values: &[i64]| if wanted { Series::from_values(values) } else { Series::default() };
        let tokens = settings.use_token_latencies;
        // In Offline, LoadGen computes times per output token from uninitialised memory, but never uses them.
        let streams = tokens && settings.scenario != Scenario::Offline;
        Results {
            samples: Series::from_values(&measured.sample_latencies_ns),
            queries: series(settings.scenario == Scenario::MultiStream, &measured.query_latencies_ns),
            first_tokens: series(streams, &measured.first_token_latencies_ns),
            per_token: series(streams, &measured.time_per_output_token_ns),
            tokens: if tokens { measured.tokens_per_sample.iter().map(|it| i128::from(*it)).sum() } else { 0 },
            measured,
            settings,
            effective,
        }
    }

    /// Returns the percentile by which the scenario is judged.
    pub fn target_percentile(&self) -> f64 {
        self.effective.target_latency_percentile
    }

    /// Returns the latencies by which the scenario is judged: in MultiStream those of queries, otherwise those of samples.
    pub fn main_latencies(&self) -> &Series {
        if self.settings.scenario == Scenario::MultiStream { &self.queries } else { &self.samples }
    }

    /// SingleStream: returns samples per second, over the whole time of the phase.
    pub fn qps_with_overhead(&self) -> f64 {
        self.gaps() / self.measured.final_query_issued_time_s
    }

    /// SingleStream: returns samples per second of the server's own time.
    pub fn qps_without_overhead(&self) -> f64 {
        1.0 / self.mean_latency_s()
    }

    /// Server: returns samples per second until the last issued query was complete.
    pub fn completed_per_second(&self) -> f64 {
        self.gaps() / self.measured.final_query_all_samples_done_time_s
    }

    /// Server: returns samples per second according to the schedule.
    pub fn scheduled_per_second(&self) -> f64 {
        self.gaps() / self.measured.final_query_scheduled_time_s
    }

    /// Offline: returns samples per second until the last sample was complete.
    pub fn offline_per_second(&self) -> f64 {
        self.samples.count() as f64 / self.measured.max_latency_s
    }

    /// Returns tokens per second until the last query was issued.
    pub fn tokens_with_overhead(&self) -> f64 {
        self.tokens as f64 / self.measured.final_query_issued_time_s
    }

    /// SingleStream: returns tokens per second of the server's own time.
    pub fn tokens_without_overhead(&self) -> f64 {
        self.tokens as f64 / (self.mean_latency_s() * self.samples.count() as f64)
    }

    /// Returns tokens per *nanosecond* of the server's own time, as LoadGen logs it.
    pub fn token_throughput(&self) -> f64 {
        self.tokens as f64 / (i128::from(self.samples.mean()) * i128::from(self.samples.count())) as f64
    }

    /// Returns tokens per second until the last issued query was complete.
    pub fn completed_tokens_per_second(&self) -> f64 {
        self.tokens as f64 / self.measured.final_query_all_samples_done_time_s
    }

    /// Offline: returns tokens per second until the last sample was complete.
    pub fn offline_tokens_per_second(&self) -> f64 {
        self.tokens as f64 / self.measured.max_latency_s
    }

    /// Server: returns tokens per second, estimated with a fixed number of tokens per sample.
    pub fn inferred_tokens_per_second(&self) -> f64 {
        self.factor() * self.gaps() / self.measured.final_query_all_samples_done_time_s
    }

    /// Offline: returns tokens per second, estimated with a fixed number of tokens per sample.
    pub fn inferred_offline_tokens_per_second(&self) -> f64 {
        self.factor() * self.samples.count() as f64 / self.measured.max_latency_s
    }

    fn factor(&self) -> f64 {
        self.settings.token_latency_scaling_factor as f64
    }

    /// Returns the number of gaps between samples: the number of samples minus one.
    fn gaps(&self) -> f64 {
        self.samples.count().saturating_sub(1) as f64
    }

    fn mean_latency_s(&self) -> f64 {
        self.samples.mean() as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_percentile_is_a_place_of_the_ascending_list() {
        let series = Series::from_values(&[50, 10, 40, 20, 30]);
        assert_eq!((series.min(), series.max(), series.mean(), series.count()), (10, 50, 30, 5));
        // 5 * 0.5 = 2.5, truncated to 2.
        assert_eq!(series.percentile(0.5), 30);
        assert_eq!(series.percentile(0.9), 50);
        assert_eq!(series.percentile(0.0), 10);
    }

    #[test]
    fn strange_percentiles_and_empty_lists_have_figures_too() {
        let none = Series::from_values(&[]);
        assert_eq!((none.min(), none.max(), none.mean(), none.percentile(0.99), none.over(0)), (0, 0, 0, 0, 0));
        let one = Series::from_values(&[7]);
        assert_eq!((one.percentile(1.0), one.percentile(f64::NAN), one.percentile(-3.0)), (7, 7, 7));
    }

    #[test]
    fn means_are_cut_toward_zero_and_sums_do_not_overflow() {
        assert_eq!(Series::from_values(&[1, 2]).mean(), 1);
        assert_eq!(Series::from_values(&[-1, -2]).mean(), -1);
        assert_eq!(Series::from_values(&[i64::MAX, i64::MAX]).mean(), i64::MAX);
    }

    #[test]
    fn a_value_at_the_limit_is_not_over_it() {
        let series = Series::from_values(&[1, 2, 2, 3]);
        assert_eq!(
            (series.over(0), series.over(1), series.over(2), series.over(3), series.over(u64::MAX)),
            (4, 3, 1, 0, 0)
        );
    }

    #[test]
    fn rates_of_nothing_are_no_numbers_and_no_panic() {
        let (settings, measured) = (Settings::default(), PhaseResult::default());
        let effective = Effective::new(&settings, &qsl());
        let results = Results::new(&measured, &settings, &effective);
        assert!(results.completed_per_second().is_nan());
        assert_eq!(results.qps_without_overhead(), f64::INFINITY);
        assert!(results.token_throughput().is_nan());
    }

    fn qsl() -> workload_profiles::loadgen::Qsl {
        workload_profiles::loadgen::Qsl { name: String::new(), total_sample_count: 1, performance_sample_count: 1 }
    }

    proptest! {
        #[test]
        fn percentiles_grow_and_are_values_of_the_list(values in prop::collection::vec(-1_000_i64..1_000_000, 1..300)) {
            let series = Series::from_values(&values);
            let found: Vec<i64> = PERCENTILES.iter().map(|it| series.percentile(*it)).collect();
            prop_assert!(found.is_sorted());
            prop_assert!(found.iter().all(|it| values.contains(it)));
            prop_assert!(series.min() <= series.mean() && series.mean() <= series.max());
        }
    }
}
