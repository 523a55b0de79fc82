//! Detects whether the server kept up with an open load, which sends requests without waiting for answers. If the server did not keep up, requests
//! queue there, and TTFT and latency grow as long as the load lasts. `docs/metrics.md` has the rule.

use std::time::Duration;

use workload_profiles::workload::{Load, Stage};

use super::{BinFigures, SeriesFigures};

/// Minimum number of time bins in which requests were sent. Fewer bins cannot be split into quarters.
const FEWEST_BINS: usize = 8;
/// If (ended requests / sent requests) is below this ratio, the queue grows.
const ENDED_SHARE: f64 = 0.95;
/// The queue has grown only if the requests in flight exceed the number from Little's law by this factor. Random variation of the load stays below
/// it.
const TIMES_LITTLE: f64 = 1.5;
/// Minimum growth of the number of requests in flight during the second half of the stage. Smaller growth is ignored.
const FEWEST_MORE: f64 = 10.0;
/// Minimum growth in standard deviations, so that growth is not due to chance. If a server keeps up, the number in flight has a Poisson distribution
/// in the simplest case. The difference of two such numbers, each near n, has the standard deviation sqrt(2 n).
const DEVIATIONS: f64 = 3.0;

/// State of the server's queue under an open load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Queue {
    /// The queue did not grow.
    Steady,
    /// The queue grew until the last request was sent.
    Grew(Backlog),
    /// The stage is too short for a decision. With fewer than `FEWEST_BINS` bins, both numbers are 0.
    Unknown {
        /// Requests that were sent.
        sent: u64,
        /// Requests in flight when the last one was sent.
        under_way: u64,
    },
}

/// A queue that grew until the last request was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Backlog {
    /// Requests sent in the second half of the sending time.
    pub(super) sent: u64,
    /// Requests that ended during that half, with any outcome.
    pub(super) ended: u64,
    /// Requests in flight at the end of the second half.
    pub(super) under_way: u64,
    /// Expected number of requests in flight by Little's law: the sending rate in the second half x the mean of the bins' median latencies in the
    /// first half.
    pub(super) by_littles_law: f64,
}

#[derive(Clone, Copy, Default)]
struct Flow {
    sent: u64,
    ended: u64,
}

impl Flow {
    fn from_bins(bins: &[BinFigures]) -> Flow {
        Flow { sent: bins.iter().map(|it| it.sent).sum(), ended: bins.iter().flat_map(|it| it.ended).sum() }
    }

    /// Growth of the number of requests in flight: requests sent minus requests ended.
    fn more_under_way(self) -> f64 {
        self.sent as f64 - self.ended as f64
    }

    fn grows_a_queue(self) -> bool {
        (self.ended as f64) < self.sent as f64 * ENDED_SHARE
    }
}

/// Returns the state of the queue during a stage. `None` if the load is not open: the requests of a burst queue from the start, and all other loads
/// wait for answers or have their own rules.
pub(super) fn of_stage(stage: &Stage, series: &SeriesFigures) -> Option<Queue> {
    matches!(stage.load, Load::Open { .. } | Load::Trace { .. }).then(|| queue(series))
}

/// The queue during a stage of open load.
fn queue(series: &SeriesFigures) -> Queue {
    let first = series.bins.iter().position(|it| it.sent > 0);
    let last = series.bins.iter().rposition(|it| it.sent > 0);
    let bins = first.zip(last).and_then(|(first, last)| series.bins.get(first..=last));
    let Some(bins) = bins.filter(|it| it.len() >= FEWEST_BINS) else {
        return Queue::Unknown { sent: 0, under_way: 0 };
    };
    let quarter = |index: usize| index * bins.len() / 4;
    let (early, late) = bins.split_at(quarter(2));
    let (third, fourth) = late.split_at(quarter(3) - quarter(2));
    let (before, sending) = (Flow::from_bins(early).more_under_way(), Flow::from_bins(late));
    let more = sending.more_under_way();
    let by_chance = DEVIATIONS * (2.0 * before.max(0.0)).sqrt();
    let under_way = before + more;
    let rate = sending.sent as f64 / (series.bin_width.as_secs_f64() * late.len() as f64);
    // No request ended in the first half: the stage is too short for the server's latency.
    let Some(latency) = latency(early) else {
        let all = Flow::from_bins(bins);
        return Queue::Unknown { sent: all.sent, under_way: all.sent.saturating_sub(all.ended) };
    };
    let by_littles_law = rate * latency.as_secs_f64();
    let grew = Flow::from_bins(third).grows_a_queue()
        && Flow::from_bins(fourth).grows_a_queue()
        && more > by_chance.max(FEWEST_MORE)
        && under_way > TIMES_LITTLE * by_littles_law;
    if !grew {
        return Queue::Steady;
    }
    Queue::Grew(Backlog {
        sent: sending.sent,
        ended: sending.ended,
        // The number is positive, because it grew by at least `FEWEST_MORE`.
        under_way: under_way as u64,
        by_littles_law,
    })
}

/// The mean of the bins' median latencies, weighted by the number of latencies in each bin.
fn latency(bins: &[BinFigures]) -> Option<Duration> {
    let of_bins = bins.iter().filter_map(|it| it.latency);
    let (count, sum) =
        of_bins.fold((0, 0.0), |(count, sum), it| (count + it.count, sum + it.p50.as_secs_f64() * it.count as f64));
    (count > 0).then(|| Duration::try_from_secs_f64(sum / count as f64).ok()).flatten()
}

#[cfg(test)]
mod tests;
