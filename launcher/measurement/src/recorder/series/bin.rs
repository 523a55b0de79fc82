//! One bin of a time series: counts that can be merged exactly. Pure.

use super::{outcome_group::OutcomeGroup, quantile_sketch::QuantileSketch};
use crate::wire::{Reader, Wire, WireError, Writer, fields};

/// The events within one bin. Each event is counted in the bin of its own time: for example, `due` by the due time and `sent` by the send time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Number of requests that were due, including those that were never sent.
    pub due: u64,
    /// Number of requests that were sent.
    pub sent: u64,
    ended: [u64; OutcomeGroup::ALL.len()],
    under_way: UnderWay,
    /// Number of prompt tokens of requests whose usage reports them, counted in the bin of the first token.
    pub input_tokens: u64,
    /// Number of output tokens, counted in the bins of the events that contained them.
    pub output_tokens: u64,
    /// Times to first token, counted in the bin of the first token.
    pub ttft: QuantileSketch,
    /// Times between two tokens, counted in the bin of the later token.
    pub itl: QuantileSketch,
    /// Times to the last token, counted in the bin of the last token.
    pub latency: QuantileSketch,
    /// Send lags, counted in the bin in which the request was sent.
    pub send_lag: QuantileSketch,
}

impl Bin {
    pub(super) fn end(&mut self, group: OutcomeGroup) {
        self.ended[group as usize] += 1;
    }

    /// Counts a request that was sent `offset` nanoseconds after the start of the bin.
    pub(super) fn begin_under_way(&mut self, offset: u64) {
        self.under_way.net += 1;
        self.under_way.offsets += i128::from(offset);
    }

    /// Counts the end of a sent request, `offset` nanoseconds after the start of the bin.
    pub(super) fn end_under_way(&mut self, offset: u64) {
        self.under_way.net -= 1;
        self.under_way.offsets -= i128::from(offset);
    }

    /// Returns the number of requests that ended with an outcome of this group.
    pub fn ended(&self, group: OutcomeGroup) -> u64 {
        self.ended[group as usize]
    }

    /// Merges a bin of the same width and the same time.
    pub(super) fn add(&mut self, other: &Bin) {
        for (mine, theirs) in self.ended.iter_mut().zip(other.ended) {
            *mine += theirs;
        }
        for (mine, theirs) in [
            (&mut self.due, other.due),
            (&mut self.sent, other.sent),
            (&mut self.input_tokens, other.input_tokens),
            (&mut self.output_tokens, other.output_tokens),
        ] {
            *mine += theirs;
        }
        self.under_way.net += other.under_way.net;
        self.under_way.offsets += other.under_way.offsets;
        for (mine, theirs) in [
            (&mut self.ttft, &other.ttft),
            (&mut self.itl, &other.itl),
            (&mut self.latency, &other.latency),
            (&mut self.send_lag, &other.send_lag),
        ] {
            mine.add(theirs);
        }
    }

    /// Moves the start of the bin earlier by this many nanoseconds.
    pub(super) fn begin_earlier(&mut self, nanos: u64) {
        self.under_way.offsets += i128::from(self.under_way.net) * i128::from(nanos);
    }

    /// Returns the requests in flight at the end of the bin minus the requests in flight at its start.
    pub(super) fn net_under_way(&self) -> i64 {
        self.under_way.net
    }

    /// Returns the time that requests were in flight within the bin, summed over the requests, in nanoseconds. `before` is the number of requests in
    /// flight at the start of the bin. `width`: width of the bin in nanoseconds.
    pub(super) fn time_under_way(&self, before: i64, width: u64) -> i128 {
        let UnderWay { net, offsets } = self.under_way;
        (i128::from(before) + i128::from(net)) * i128::from(width) - offsets
    }

    /// Returns the heap size in bytes.
    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        [&self.ttft, &self.itl, &self.latency, &self.send_lag].into_iter().map(QuantileSketch::heap_bytes).sum()
    }
}

/// The number of requests in flight, as differences. A request only changes the bin in which it was sent and the bin in which it ended,
/// however long it takes.
///
/// With n requests in flight at the start of a bin of width w, sends at offsets s and ends at offsets e, the time in flight within the bin
/// is n w + sum(w - s) - sum(w - e) = (n + sends - ends) w - (sum(s) - sum(e)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct UnderWay {
    /// Number of sends minus number of ends.
    net: i64,
    /// Sum of the send offsets minus sum of the end offsets, in nanoseconds from the start of the bin.
    offsets: i128,
}

/// Maximum of `offsets`. No run reaches it, and it leaves room for sums.
const MOST_OFFSETS: u128 = 1 << 100;

impl Wire for UnderWay {
    fn write(&self, to: &mut Writer) {
        self.net.write(to);
        self.offsets.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<UnderWay, WireError> {
        let (net, offsets) = <(i64, i128)>::read(from)?;
        if offsets.unsigned_abs() > MOST_OFFSETS {
            return Err(WireError::Value { what: "time under way" });
        }
        Ok(UnderWay { net, offsets })
    }
}

fields!(Bin { due, sent, ended, under_way, input_tokens, output_tokens, ttft, itl, latency, send_lag });
