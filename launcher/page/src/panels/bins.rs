//! Converts columns of a time series to lines and bars over time.

use charts::{Bar, Place, Series, Tone};
use document::{Column, TimeSeriesDocument, TimesDocument};

use super::plot::{line, seconds};

/// Time bins of equal width, in seconds since the start of the run.
#[derive(Clone, Copy)]
pub(super) struct Bins {
    start: f64,
    pub(super) width: f64,
}

/// Minimum number of points on the line of a short run. With fewer bins than this, there is one point per bin.
const POINTS_OF_SECONDS: usize = 4;

impl Bins {
    pub(super) fn new(start_ms: f64, bin_ms: f64) -> Bins {
        Bins { start: seconds(start_ms), width: seconds(bin_ms) }
    }

    pub(super) fn from_series(series: &TimeSeriesDocument) -> Bins {
        Bins::new(series.start_ms, series.bin_ms)
    }

    /// The start of a bin.
    pub(super) fn begin(self, index: usize) -> f64 {
        self.start + index as f64 * self.width
    }

    /// Points with one value per bin, in the middle of the bin.
    pub(super) fn places(self, values: impl IntoIterator<Item = Option<f64>>) -> Vec<Place> {
        let values = values.into_iter().enumerate();
        values.map(|(index, y)| Place { x: self.begin(index) + self.width / 2.0, y }).collect()
    }

    /// Converts counts to rates per second. Bins shorter than a second are merged, because such a bin often contains no request or only one.
    pub(super) fn rates(self, counts: &Column<u64>) -> Vec<Place> {
        self.mean_rates(counts, self.together(counts.0.len()))
    }

    /// Returns bins on the same time axis that are `together` times as wide.
    pub(super) fn coarser(self, together: usize) -> Bins {
        Bins { width: self.width * together as f64, ..self }
    }

    /// The number of bins in a second, so that they can be merged. Smaller for a short run, so that a line has at least [`POINTS_OF_SECONDS`] points.
    pub(super) fn together(self, bins: usize) -> usize {
        let of_a_second = (1.0 / self.width).ceil().max(1.0) as usize;
        of_a_second.min((bins / POINTS_OF_SECONDS).max(1))
    }

    /// Converts counts to rates per second. Merges `together` bins into one, with a point in its middle.
    pub(super) fn mean_rates(self, counts: &Column<u64>, together: usize) -> Vec<Place> {
        let groups = counts.0.chunks(together.max(1)).enumerate();
        let place = |(index, group): (usize, &[u64])| {
            let length = group.len() as f64 * self.width;
            let sum: u64 = group.iter().sum();
            Place { x: self.begin(index * together.max(1)) + length / 2.0, y: Some(sum as f64 / length) }
        };
        groups.map(place).collect()
    }

    /// One bar per bin that has a value.
    pub(super) fn bars(self, values: impl IntoIterator<Item = Option<f64>>) -> Vec<Bar> {
        let values = values.into_iter().enumerate();
        let bar = |(index, value): (usize, Option<f64>)| {
            Some(Bar { from: self.begin(index), to: self.begin(index + 1), value: value? })
        };
        values.filter_map(bar).collect()
    }

    /// Lines for p50, p90 and p99 of a time in each bin.
    pub(super) fn quantiles(self, times: &TimesDocument) -> [Series; 3] {
        let of = |column: &Column<Option<f64>>| {
            let mut places = self.places(column.0.iter().copied());
            if is_sparse(column) {
                places.retain(|it| it.y.is_some());
            }
            places
        };
        let [p50, p90, p99] = [&times.p50, &times.p90, &times.p99].map(of);
        [line("p50", Tone::Median, p50), line("p90", Tone::High, p90), line("p99", Tone::Highest, p99)]
    }
}

/// Whether so many bins between the first and the last value are empty that the line would consist of dots.
fn is_sparse(column: &Column<Option<f64>>) -> bool {
    let first = column.0.iter().position(Option::is_some);
    let last = column.0.iter().rposition(Option::is_some);
    let Some((first, last)) = first.zip(last) else { return false };
    let inner = &column.0[first..=last];
    inner.iter().filter(|it| it.is_none()).count() * 4 > inner.len()
}

/// Minimum mean number of requests in a merged bin. With fewer, random variation would dominate the rate.
const REQUESTS_TOGETHER: f64 = 10.0;
/// Minimum number of merged bins, even if each then has few requests.
const FEWEST_POINTS: usize = 24;

/// The number of bins to merge for rates of requests, a power of two.
pub(super) fn together(counts: &Column<u64>) -> usize {
    let bins = counts.0.len().max(1);
    let mean = counts.0.iter().sum::<u64>() as f64 / bins as f64;
    let mut together = 1;
    while mean * (together as f64) < REQUESTS_TOGETHER && bins / (together * 2) >= FEWEST_POINTS {
        together *= 2;
    }
    together
}

/// The time series of the run, or a sentence why there is none.
pub(super) fn of_run(document: &document::ReportDocument) -> Result<&TimeSeriesDocument, String> {
    document.time_series.as_ref().ok_or_else(|| {
        "The report has no series over time: no request was issued, or an older release wrote it.".to_owned()
    })
}

/// Explains the quantiles of a time bin, for captions.
pub(super) const QUANTILES_OF_BINS: &str =
    "Each point is one time bin. With fewer than 100 values in a bin, p99 is the largest of them.";
