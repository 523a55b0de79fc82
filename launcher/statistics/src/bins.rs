//! Groups successive values into bins, to show how a quantile or a rate changes over time.
//!
//! For latencies, all bins have the same number of values, so that their quantiles are equally certain. For rates, all bins have the same length.

/// Maximum number of bins.
pub const MOST: usize = 60;
/// Minimum number of bins for judging a steady state.
pub const FEWEST: usize = 10;
/// Minimum number of values per bin. With fewer values, p90 would be one of the two largest.
pub const FEWEST_VALUES: usize = 20;

/// A figure in one bin. All times are from the same clock, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The start of the bin, which is the time of its first value.
    pub start: f64,
    /// The time at which a chart shows the figure: the mean of the times of the bin's values.
    pub time: f64,
    pub value: f64,
}

/// The number of bins for this number of values, at most 60. `None` if there are too few values for 10 bins with 20 values each.
pub fn number(values: usize) -> Option<usize> {
    let bins = (values / FEWEST_VALUES).min(MOST);
    (bins >= FEWEST).then_some(bins)
}

/// Returns quantiles of successive values in `bins` bins, by nearest rank. The result has one series per entry of `quantiles`. All bins have the same
/// number of values, except that the last bins can have one more. `values`: pairs (time, value) in time order. Empty if `bins` is 0 or exceeds the
/// number of values.
pub fn quantiles<const N: usize>(values: &[(f64, f64)], bins: usize, quantiles: [f64; N]) -> [Vec<Point>; N] {
    let mut series = quantiles.map(|_| Vec::with_capacity(bins.min(MOST)));
    let edge = |bin: usize| (bin as u128 * values.len() as u128 / bins.max(1) as u128) as usize;
    for bin in 0..bins {
        let Some(of_bin) = values.get(edge(bin)..edge(bin + 1)).filter(|it| !it.is_empty()) else { continue };
        let start = of_bin[0].0;
        let time = of_bin.iter().map(|it| it.0).sum::<f64>() / of_bin.len() as f64;
        let mut sorted: Vec<f64> = of_bin.iter().map(|it| it.1).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        for (series, p) in series.iter_mut().zip(quantiles) {
            let rank = (sorted.len() as f64 * p).ceil() as usize;
            let value = sorted[rank.clamp(1, sorted.len()) - 1];
            series.push(Point { start, time, value });
        }
    }
    series
}

/// Rates in bins of equal length from `open` to `close`. A rate is the amount added to a bin, divided by the length of the bin.
#[derive(Clone, Debug, PartialEq)]
pub struct RateBins {
    open: f64,
    length: f64,
    sums: Vec<f64>,
    /// An amount here counts for the bin with this index and for all later bins. So adding an amount to many bins takes constant time.
    from: Vec<f64>,
}

impl RateBins {
    /// `None` if there are no bins, or if the bins have no length.
    pub fn new(open: f64, close: f64, bins: usize) -> Option<RateBins> {
        let length = (close - open) / bins as f64;
        let is_possible = bins > 0 && length.is_finite() && length > 0.0;
        is_possible.then(|| RateBins { open, length, sums: vec![0.0; bins], from: vec![0.0; bins + 1] })
    }

    /// Adds an amount at one time. Amounts outside all bins are ignored.
    pub fn add(&mut self, at: f64, amount: f64) {
        if let Some(bin) = self.bin(at) {
            self.sums[bin] += amount;
        }
    }

    /// Adds an amount that is spread evenly between two times. Parts outside all bins are ignored.
    pub fn spread(&mut self, from: f64, to: f64, amount: f64) {
        let close = self.open + self.length * self.sums.len() as f64;
        let (first, last) = (from.max(self.open), to.min(close));
        if to <= from {
            return self.add(to, amount);
        }
        let (Some(first_bin), Some(last_bin)) = (self.bin(first), self.bin(last)) else { return };
        if last <= first {
            return;
        }
        let density = amount / (to - from);
        if first_bin == last_bin {
            self.sums[first_bin] += density * (last - first);
            return;
        }
        let edge = |bin: usize| self.open + self.length * bin as f64;
        let (in_first, in_last) = (edge(first_bin + 1) - first, last - edge(last_bin));
        self.sums[first_bin] += density * in_first;
        self.sums[last_bin] += density * in_last;
        self.from[first_bin + 1] += density * self.length;
        self.from[last_bin] -= density * self.length;
    }

    /// The index of the bin that contains a time; `None` if no bin does. The last bin includes its end.
    fn bin(&self, at: f64) -> Option<usize> {
        let place = (at - self.open) / self.length;
        let bins = self.sums.len() as f64;
        (0.0..=bins).contains(&place).then(|| (place as usize).min(self.sums.len() - 1))
    }

    /// The rates, each with the start and the middle of its bin.
    pub fn rates(&self) -> Vec<Point> {
        let mut over = 0.0;
        let rate = |(bin, sum): (usize, &f64)| {
            over += self.from[bin];
            let start = self.open + self.length * bin as f64;
            Point { start, time: start + self.length / 2.0, value: (sum + over) / self.length }
        };
        self.sums.iter().enumerate().map(rate).collect()
    }
}
