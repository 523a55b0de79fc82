//! Computes time series for a window from the samples, with one value per bin. Pure.
//!
//! Samples of gauges are valid as long as for the figures of a window. A counter is converted to its rate between two scrapes. Gauges and rates are
//! averaged over the part of each bin in which they are known.

use std::time::Duration;

use super::{
    Scrape, Series, Store,
    levels::{self, HOLD, Held},
};
use crate::families::{Part, Role};

/// Maximum number of bins. Enough for a chart of a run.
const MOST_BINS: u128 = 240;
/// Minimum width of a bin, so that a width exists for any interval.
const LEAST_WIDTH: Duration = Duration::from_millis(1);

/// One value per bin, or `None` for a bin with an unknown value. The outer `None`: no server has the metric.
pub type Values = Option<Vec<Option<f64>>>;

/// The metrics of all servers together over time. Bin i starts i x `bin_width` after the start of the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OverTime {
    pub bin_width: Duration,
    /// Number of requests over all servers.
    pub running: Values,
    pub waiting: Values,
    /// KV cache usage as a fraction, as the mean over all servers.
    pub kv_cache_usage: Values,
    /// Tokens found in the prefix cache / tokens looked up there. SGLang does not report looked-up tokens, so its prompt tokens are used.
    pub prefix_hit_share: Values,
    /// Tokens per second over all servers. The unit also applies to the next two fields.
    pub prompt_tokens: Values,
    /// Tokens that were found in the prefix cache.
    pub cached_prompt_tokens: Values,
    pub generation_tokens: Values,
    pub preemptions: Values,
    /// GPU utilization as a fraction of time, as the mean over all GPUs.
    pub gpu_utilization: Values,
    /// Power in watts, summed over all GPUs.
    pub gpu_power: Values,
    /// Number of failed scrapes that began in the bin.
    pub failed_scrapes: Vec<u64>,
}

impl Store {
    /// Computes the time series of the window from `from` to `to`, on the machine's monotonic clock. `interval` is the time between two scrapes. The
    /// width of a bin is the interval times a power of two. `None` if the window has no length.
    pub fn over_time(&self, from: Duration, to: Duration, interval: Duration) -> Option<OverTime> {
        let bins = Bins::new(from, to, interval)?;
        let hold = interval * HOLD;
        let gauges = |role: Role| self.gauges(role, (from, to), hold);
        let rate = |role: Role| {
            let counters = self.of_role(role, Part::Counter);
            let rates = counters.map(|(it, scrapes)| rates(it, scrapes, (from, to), hold));
            let sums = levels::sums(&rates.collect::<Vec<_>>());
            // The rate is unknown between scrapes that are too far apart.
            let known = levels::without(sums, self.silences(role, hold, Duration::ZERO));
            bins.means(if self.is_mixed(role) { Vec::new() } else { known })
        };
        let sum = |role: Role| bins.means(self.sums(role, (from, to), hold));
        let each = |role: Role| bins.means(gauges(role).into_iter().flatten());
        let (prompt_tokens, hits) = (rate(Role::PromptTokens), rate(Role::PrefixHits));
        let looked_up = rate(Role::PrefixQueries);
        let share = |value: f64| value * 0.01;
        Some(OverTime {
            bin_width: bins.width,
            running: sum(Role::Running),
            waiting: sum(Role::Waiting),
            kv_cache_usage: each(Role::KvCacheUsage),
            prefix_hit_share: quotients(&hits, if looked_up.is_some() { &looked_up } else { &prompt_tokens }),
            prompt_tokens,
            cached_prompt_tokens: hits,
            generation_tokens: rate(Role::GenerationTokens),
            preemptions: rate(Role::Preemptions),
            gpu_utilization: each(Role::GpuUtilization)
                .map(|values| values.into_iter().map(|it| it.map(share)).collect()),
            gpu_power: sum(Role::GpuPower),
            failed_scrapes: bins.count(self.scrapes().filter(|it| !it.ok).map(|it| it.at)),
        })
    }

    fn scrapes(&self) -> impl Iterator<Item = &Scrape> {
        self.addresses.iter().flat_map(|it| it.scrapes())
    }
}

/// The rate of a counter per second, between every two successive successful scrapes of its address. The rate is unknown before the first scrape, and
/// between scrapes that are more than `hold` apart.
fn rates(series: &Series, scrapes: &[Scrape], (from, to): (Duration, Duration), hold: Duration) -> Vec<Held> {
    let good = || scrapes.iter().filter(|it| it.ok);
    let pairs = good().zip(good().skip(1));
    let rate = |(one, other): (&Scrape, &Scrape)| {
        let length = other.at.saturating_sub(one.at);
        let (begin, end) = (one.at.max(from), other.at.min(to));
        if begin >= end || length > hold {
            return None;
        }
        let increase = series.increase(Some(one.number), other.number)?;
        Some(Held { from: begin, to: end, value: increase / length.as_secs_f64() })
    };
    pairs.filter_map(rate).collect()
}

/// Divides one column by another. A bin is `None` if the divisor is not above zero.
fn quotients(one: &Values, other: &Values) -> Values {
    let (one, other) = (one.as_ref()?, other.as_ref()?);
    let quotient = |(one, other): (&Option<f64>, &Option<f64>)| {
        let other = other.filter(|it| *it > 0.0)?;
        one.map(|it| it / other)
    };
    Some(one.iter().zip(other).map(quotient).collect())
}

/// Bins of equal width that cover a window.
#[derive(Clone, Copy, Debug)]
struct Bins {
    from: Duration,
    width: Duration,
    number: usize,
}

impl Bins {
    fn new(from: Duration, to: Duration, interval: Duration) -> Option<Bins> {
        let length = to.checked_sub(from).filter(|it| !it.is_zero())?;
        let mut width = interval.max(LEAST_WIDTH);
        while length.as_nanos().div_ceil(width.as_nanos()) > MOST_BINS {
            width = width.checked_mul(2)?;
        }
        let number = usize::try_from(length.as_nanos().div_ceil(width.as_nanos())).ok()?;
        Some(Bins { from, width, number })
    }

    /// The index of the bin that contains a time. The time must not be before the window; the index can be beyond the last bin.
    fn bin(&self, at: Duration) -> usize {
        let bin = at.saturating_sub(self.from).as_nanos() / self.width.as_nanos();
        usize::try_from(bin).unwrap_or(usize::MAX)
    }

    /// The mean of each bin, weighted by time; `None` if no bin has a value.
    fn means(&self, parts: impl IntoIterator<Item = Held>) -> Values {
        let mut bins = vec![(0.0, 0.0); self.number];
        for Held { from, to, value } in parts {
            let first = self.bin(from);
            let mut begin = from;
            for (bin, (weight, all)) in bins.iter_mut().enumerate().skip(first) {
                let end = self.from + self.width * (bin as u32 + 1);
                let length = end.min(to).saturating_sub(begin).as_secs_f64();
                *weight += length;
                *all += value * length;
                if end >= to {
                    break;
                }
                begin = end;
            }
        }
        let mean = |(weight, all): (f64, f64)| Some(all / weight).filter(|it| it.is_finite());
        let means: Vec<Option<f64>> = bins.into_iter().map(mean).collect();
        means.iter().any(Option::is_some).then_some(means)
    }

    /// The number of times in each bin. Times outside the window are ignored.
    fn count(&self, times: impl Iterator<Item = Duration>) -> Vec<u64> {
        let mut counts = vec![0; self.number];
        for at in times.filter(|it| *it >= self.from) {
            if let Some(count) = counts.get_mut(self.bin(at)) {
                *count += 1;
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests;
