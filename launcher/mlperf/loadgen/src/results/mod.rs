//! Results: the figures that LoadGen computes from the measurements of a performance phase.
//!
//! Compatible with LoadGen, including what a careful reader would consider mistakes: the rates of the Server scenario are divided by the
//! completion time of the last issued query, which need not be the last completion. [`corrected`] computes the values without such quirks.
//! Each series is sorted once; each figure is then a look-up.

pub mod completion;
pub mod corrected;
pub mod early_stopping;
pub mod early_stopping_outcome;
pub mod figures;
pub mod forecast;
pub mod validity;

use serde::{Deserialize, Serialize};
use workload_profiles::loadgen::{Effective, Scenario, Settings};

/// The percentiles of the logs.
pub const PERCENTILES: [f64; 6] = [0.50, 0.90, 0.95, 0.97, 0.99, 0.999];

/// The measurements of a performance phase. Latencies are in nanoseconds, in order of the samples' sequence numbers.
///
/// A failed sample has no latency: the lists contain completed samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PhaseResult {
    /// Of each sample, from the scheduled time of its query.
    pub sample_latencies_ns: Vec<i64>,
    /// MultiStream: of each query, until its last sample was complete.
    pub query_latencies_ns: Vec<i64>,
    /// With tokens, but not Offline: of each sample, until its first token.
    pub first_token_latencies_ns: Vec<i64>,
    /// With tokens: of each sample; negative where a sample had too few tokens.
    pub time_per_output_token_ns: Vec<i64>,
    /// With tokens: of each sample, all output tokens.
    pub tokens_per_sample: Vec<i64>,
    /// Queries that were issued.
    pub queries_issued: u64,
    /// The largest sample latency.
    pub max_latency_s: f64,
    /// Of the query that was issued last, all from the start of the phase: when it was scheduled,
    pub final_query_scheduled_time_s: f64,
    /// when it was issued,
    pub final_query_issued_time_s: f64,
    /// and when all its samples were complete.
    pub final_query_all_samples_done_time_s: f64,
}

/// Values of the same kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    ascending: Vec<i64>,
    sum: i128,
}

impl Series {
    /// The series of some values, in any order.
    pub fn from_values(values: &[i64]) -> Series {
        let mut ascending = values.to_vec();
        ascending.sort_unstable();
        Series { sum: values.iter().map(|it| i128::from(*it)).sum(), ascending }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.ascending.len() as u64
    }

    /// The sum of the values.
    pub fn sum(&self) -> i128 {
        self.sum
    }

    /// The smallest value; 0 for an empty series, as for all figures here.
    pub fn min(&self) -> i64 {
        self.ascending.first().copied().unwrap_or_default()
    }

    /// The largest.
    pub fn max(&self) -> i64 {
        self.ascending.last().copied().unwrap_or_default()
    }

    /// The mean, cut to an integer.
    pub fn mean(&self) -> i64 {
        let mean = self.sum / i128::from(self.count()).max(1);
        i64::try_from(mean).expect("a mean is between the smallest and the largest value")
    }

    /// The value in the place `count * percentile`, cut to an integer, of the ascending list: LoadGen does not interpolate.
    pub fn percentile(&self, percentile: f64) -> i64 {
        self.at(percentile_place(self.count(), percentile))
    }

    /// The value in a place of the ascending list, counted from 0; past its end the last.
    pub fn at(&self, place: u64) -> i64 {
        let place = usize::try_from(place).unwrap_or(usize::MAX).min(self.ascending.len().saturating_sub(1));
        self.ascending.get(place).copied().unwrap_or_default()
    }

    /// How many are above a limit.
    pub fn over(&self, limit: u64) -> u64 {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        (self.ascending.len() - self.ascending.partition_point(|it| *it <= limit)) as u64
    }
}

/// The place of a percentile among `count` values in ascending order, counted from 0.
pub(crate) fn percentile_place(count: u64, percentile: f64) -> u64 {
    (count as f64 * percentile) as u64
}

/// The figures of a performance phase, and the settings that they are checked against.
#[derive(Clone, Debug)]
pub struct Results<'a> {
    /// The measurements.
    pub measured: &'a PhaseResult,
    /// The settings as requested,
    pub settings: &'a Settings,
    /// and as the phase ran by them.
    pub effective: &'a Effective,
    /// Latencies of samples.
    pub samples: Series,
    /// Latencies of queries; empty but in MultiStream.
    pub queries: Series,
    /// Latencies of first tokens; empty without tokens and Offline.
    pub first_tokens: Series,
    /// Times per output token; likewise.
    pub per_token: Series,
    /// All output tokens.
    pub tokens: i128,
}

impl<'a> Results<'a> {
    /// The figures of the measurements.
    pub fn new(measured: &'a PhaseResult, settings: &'a Settings, effective: &'a Effective) -> Results<'a> {
        let series =
            |wanted: bool, values: &[i64]| if wanted { Series::from_values(values) } else { Series::default() };
        let tokens = settings.use_token_latencies;
        // In Offline, LoadGen computes a time per output token from uninitialised memory, and never uses it.
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

    /// The percentile by which the scenario is judged.
    pub fn target_percentile(&self) -> f64 {
        self.effective.target_latency_percentile
    }

    /// Latencies of queries where a query has some samples, else of samples.
    pub fn main_latencies(&self) -> &Series {
        if self.settings.scenario == Scenario::MultiStream { &self.queries } else { &self.samples }
    }

    /// SingleStream: samples per second of the phase's time.
    pub fn qps_with_overhead(&self) -> f64 {
        self.gaps() / self.measured.final_query_issued_time_s
    }

    /// SingleStream: samples per second of the server's time.
    pub fn qps_without_overhead(&self) -> f64 {
        1.0 / self.mean_latency_s()
    }

    /// Server: samples per second until the query that was issued last was complete.
    pub fn completed_per_second(&self) -> f64 {
        self.gaps() / self.measured.final_query_all_samples_done_time_s
    }

    /// Server: samples per second of the schedule.
    pub fn scheduled_per_second(&self) -> f64 {
        self.gaps() / self.measured.final_query_scheduled_time_s
    }

    /// Offline: samples per second until the last was complete.
    pub fn offline_per_second(&self) -> f64 {
        self.samples.count() as f64 / self.measured.max_latency_s
    }

    /// Tokens per second until the query that was issued last was issued.
    pub fn tokens_with_overhead(&self) -> f64 {
        self.tokens as f64 / self.measured.final_query_issued_time_s
    }

    /// SingleStream: tokens per second of the server's time.
    pub fn tokens_without_overhead(&self) -> f64 {
        self.tokens as f64 / (self.mean_latency_s() * self.samples.count() as f64)
    }

    /// Tokens per *nanosecond* of the server's time, as LoadGen logs it.
    pub fn token_throughput(&self) -> f64 {
        self.tokens as f64 / (i128::from(self.samples.mean()) * i128::from(self.samples.count())) as f64
    }

    /// Tokens per second until the query that was issued last was complete.
    pub fn completed_tokens_per_second(&self) -> f64 {
        self.tokens as f64 / self.measured.final_query_all_samples_done_time_s
    }

    /// Offline: tokens per second until the last sample was complete.
    pub fn offline_tokens_per_second(&self) -> f64 {
        self.tokens as f64 / self.measured.max_latency_s
    }

    /// Server: tokens per second, where a sample counts as the tokens of a factor.
    pub fn inferred_tokens_per_second(&self) -> f64 {
        self.factor() * self.gaps() / self.measured.final_query_all_samples_done_time_s
    }

    /// Offline: likewise.
    pub fn inferred_offline_tokens_per_second(&self) -> f64 {
        self.factor() * self.samples.count() as f64 / self.measured.max_latency_s
    }

    fn factor(&self) -> f64 {
        self.settings.token_latency_scaling_factor as f64
    }

    /// A schedule of n samples has n - 1 gaps.
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
        // 5 * 0.5 = 2.5, cut to 2.
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
