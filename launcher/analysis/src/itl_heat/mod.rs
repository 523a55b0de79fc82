//! How often each ITL (inter-token latency) occurred over time: a heat map with columns of time and rows of ITL. Pure.

use std::time::Duration;

use measurement::recorder::{TimeSeries, series::QuantileSketch};

/// Maximum number of columns, limited by the width of a page.
const MOST_COLUMNS: usize = 120;
/// Maximum number of rows, for the same reason.
const MOST_ROWS: usize = 40;
/// Maximum number of rows per doubling of the ITL. With more rows, some would always be empty: the ITLs are counted in buckets, and a bucket is up to
/// 1/32 of its lower edge wide.
const ROWS_OF_A_DOUBLING: f64 = 16.0;
/// The lowest row begins at this percentile of the times above zero. If it began at the minimum, a few times near zero would make every row too high.
const LOWEST_PERCENT: u64 = 1;
/// Shorter times than this, in nanoseconds, are counted like zero. A gap is zero if both tokens arrived in one read.
const ABOVE_ZERO: f64 = 1_024.0;
/// Minimum lower edge of the lowest row, in nanoseconds (0.1 ms). Shorter gaps come from how the socket is read, not from the server.
const LEAST: f64 = 100_000.0;

/// Counts of ITLs by time and value.
#[derive(Clone, Debug, PartialEq)]
pub struct ItlHeat {
    /// Number of time bins per column; the last column can have fewer.
    pub bins_per_column: usize,
    /// The edges of the rows, in increasing order with a constant ratio. There is one edge more than rows.
    pub edges: Vec<Duration>,
    /// `counts[column][row]`: the number of ITLs. The lowest row also counts all shorter ITLs.
    pub counts: Vec<Vec<u64>>,
}

impl ItlHeat {
    /// Counts the ITLs of a time series. `None` if it has no ITLs.
    pub(super) fn new(series: &TimeSeries) -> Option<ItlHeat> {
        let sketches: Vec<&QuantileSketch> = series.bins().map(|(bin, _)| &bin.itl).collect();
        let mut all = QuantileSketch::default();
        sketches.iter().for_each(|it| all.add(it));
        let rows = Rows::new(&all)?;
        let bins_per_column = sketches.len().div_ceil(MOST_COLUMNS);
        let counts = sketches.chunks(bins_per_column).map(|bins| {
            let mut counts = vec![0; rows.number];
            for (nanos, count) in bins.iter().flat_map(|it| it.counts()) {
                counts[rows.row(nanos)] += count;
            }
            counts
        });
        Some(ItlHeat { bins_per_column, counts: counts.collect(), edges: rows.edges() })
    }
}

/// The [`LOWEST_PERCENT`] percentile of the times above zero, in nanoseconds; `None` if all times are zero.
fn shortest(all: &QuantileSketch) -> Option<f64> {
    let above_zero = || all.counts().filter(|(nanos, _)| *nanos >= ABOVE_ZERO);
    let count: u64 = above_zero().map(|(_, count)| count).sum();
    let rank = (count * LOWEST_PERCENT).div_ceil(100);
    let mut passed = 0;
    let found = above_zero().find(|(_, count)| {
        passed += count;
        passed >= rank
    });
    found.map(|(nanos, _)| nanos)
}

/// Rows of equal height on a logarithmic scale. `lowest` and `height` are base-2 logarithms of nanoseconds.
struct Rows {
    lowest: f64,
    height: f64,
    number: usize,
}

impl Rows {
    fn new(all: &QuantileSketch) -> Option<Rows> {
        let (longest, _) = all.counts().last()?;
        let shortest = shortest(all).unwrap_or(LEAST).max(LEAST);
        let longest = longest.max(shortest);
        let lowest = shortest.log2() - 0.5 / ROWS_OF_A_DOUBLING;
        let range = longest.log2() + 0.5 / ROWS_OF_A_DOUBLING - lowest;
        // Without the 1e-6, rounding could give zero rows for the range of a single bucket.
        let number = ((range * ROWS_OF_A_DOUBLING + 1e-6) as usize).clamp(1, MOST_ROWS);
        Some(Rows { lowest, height: range / number as f64, number })
    }

    fn row(&self, nanos: f64) -> usize {
        // The cast turns a negative number into zero.
        (((nanos.log2() - self.lowest) / self.height) as usize).min(self.number - 1)
    }

    fn edges(&self) -> Vec<Duration> {
        let edge = |row: usize| (self.lowest + self.height * row as f64).exp2();
        (0..=self.number).map(|row| Duration::from_nanos(edge(row).round() as u64)).collect()
    }
}

#[cfg(test)]
mod tests;
