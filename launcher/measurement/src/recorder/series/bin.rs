//! One bin of a series: counts that are added exactly. Pure.

use super::{outcome_group::OutcomeGroup, quantile_sketch::QuantileSketch};
use crate::wire::{Reader, Wire, WireError, Writer, fields};

/// The events within one bin. A count or a time belongs to the bin of the moment that its field names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Requests that were due, including requests that were never sent.
    pub due: u64,
    /// Requests that were sent.
    pub sent: u64,
    ended: [u64; OutcomeGroup::ALL.len()],
    under_way: UnderWay,
    /// Prompt tokens of the requests with usage that reports them, in the bin of the first token.
    pub input_tokens: u64,
    /// Output tokens, in the bins of the events that held them.
    pub output_tokens: u64,
    /// Times to the first token, in the bin of the first token.
    pub ttft: QuantileSketch,
    /// Times between two tokens, in the bin of the later token.
    pub itl: QuantileSketch,
    /// Times to the last token, in the bin of the last token.
    pub latency: QuantileSketch,
    /// Send lags, in the bin of the send.
    pub send_lag: QuantileSketch,
}

impl Bin {
    pub(super) fn end(&mut self, group: OutcomeGroup) {
        self.ended[group as usize] += 1;
    }

    /// Counts a request that was sent `offset` nanoseconds after the begin of the bin.
    pub(super) fn begin_under_way(&mut self, offset: u64) {
        self.under_way.net += 1;
        self.under_way.offsets += i128::from(offset);
    }

    /// Counts the end of a sent request, `offset` nanoseconds after the begin of the bin.
    pub(super) fn end_under_way(&mut self, offset: u64) {
        self.under_way.net -= 1;
        self.under_way.offsets -= i128::from(offset);
    }

    /// Requests that ended with an outcome in a group.
    pub fn ended(&self, group: OutcomeGroup) -> u64 {
        self.ended[group as usize]
    }

    /// Adds a bin of the same width and the same time.
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

    /// Moves the begin of the bin this many nanoseconds earlier.
    pub(super) fn begin_earlier(&mut self, nanos: u64) {
        self.under_way.offsets += i128::from(self.under_way.net) * i128::from(nanos);
    }

    /// Requests in flight at the end of the bin minus requests in flight at its begin.
    pub(super) fn net_under_way(&self) -> i64 {
        self.under_way.net
    }

    /// The total time of requests in flight within the bin, summed over the requests, in nanoseconds. `before`: requests in flight at its
    /// begin. `width`: in nanoseconds.
    pub(super) fn time_under_way(&self, before: i64, width: u64) -> i128 {
        let UnderWay { net, offsets } = self.under_way;
        (i128::from(before) + i128::from(net)) * i128::from(width) - offsets
    }

    /// Heap size in bytes.
    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        [&self.ttft, &self.itl, &self.latency, &self.send_lag].into_iter().map(QuantileSketch::heap_bytes).sum()
    }
}

/// The requests in flight, as differences: a request changes only the bins of its send and its end, however long it takes.
///
/// With n requests in flight at the begin of a bin of width w, sends at offsets s and ends at offsets e, the time in flight within the bin is
/// n w + sum(w - s) - sum(w - e) = (n + sends - ends) w - (sum(s) - sum(e)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct UnderWay {
    /// Sends minus ends.
    net: i64,
    /// The offsets of the sends minus the offsets of the ends, in nanoseconds from the begin of the bin.
    offsets: i128,
}

/// No run has larger offsets. The bound leaves room for sums.
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
