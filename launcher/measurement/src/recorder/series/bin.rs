//! One bin of a series: counts that are added exactly. Pure.

use super::{outcome_group::OutcomeGroup, quantile_sketch::QuantileSketch};
use crate::wire::{Reader, Wire, WireError, Writer, fields};

/// What happened within one bin. A count or a time lies in the bin of the moment that its field names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Requests that were due, also those that were never sent.
    pub due: u64,
    /// Requests that were sent.
    pub sent: u64,
    ended: [u64; OutcomeGroup::ALL.len()],
    under_way: UnderWay,
    /// Prompt tokens, at the first token, of the requests whose usage tells them.
    pub input_tokens: u64,
    /// Output tokens, at the events that held them.
    pub output_tokens: u64,
    /// Time to the first token, at the first token.
    pub ttft: QuantileSketch,
    /// Times between two tokens, at the later one.
    pub itl: QuantileSketch,
    /// Time to the last token, at the last token.
    pub latency: QuantileSketch,
    /// Send lag, at the send.
    pub send_lag: QuantileSketch,
}

impl Bin {
    pub(super) fn end(&mut self, group: OutcomeGroup) {
        self.ended[group as usize] += 1;
    }

    /// A request was sent so many nanoseconds after the begin of the bin.
    pub(super) fn begin_under_way(&mut self, offset: u64) {
        self.under_way.net += 1;
        self.under_way.offsets += i128::from(offset);
    }

    /// A request that was sent ended so many nanoseconds after the begin of the bin.
    pub(super) fn end_under_way(&mut self, offset: u64) {
        self.under_way.net -= 1;
        self.under_way.offsets -= i128::from(offset);
    }

    /// Requests that ended with an outcome of a group.
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

    /// Moves the begin of the bin to this many nanoseconds before.
    pub(super) fn begin_earlier(&mut self, nanos: u64) {
        self.under_way.offsets += i128::from(self.under_way.net) * i128::from(nanos);
    }

    /// Requests under way at the end of the bin less those at its begin.
    pub(super) fn net_under_way(&self) -> i64 {
        self.under_way.net
    }

    /// The time that requests were under way within the bin, added up over the requests, in nanoseconds. `before`: requests under way at
    /// its begin. `width`: in nanoseconds.
    pub(super) fn time_under_way(&self, before: i64, width: u64) -> i128 {
        let UnderWay { net, offsets } = self.under_way;
        (i128::from(before) + i128::from(net)) * i128::from(width) - offsets
    }

    /// Bytes on the heap.
    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        [&self.ttft, &self.itl, &self.latency, &self.send_lag].into_iter().map(QuantileSketch::heap_bytes).sum()
    }
}

/// The requests under way, as differences: a request changes the bins of its send and of its end, however long it takes.
///
/// With n requests under way at the begin of a bin of width w, sends at offsets s and ends at offsets e, the time under way within the bin
/// is n w + sum(w - s) - sum(w - e) = (n + sends - ends) w - (sum(s) - sum(e)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct UnderWay {
    /// Sends less ends.
    net: i64,
    /// The offsets of the sends less those of the ends, in nanoseconds from the begin of the bin.
    offsets: i128,
}

/// Larger offsets are of no run: they leave room for sums.
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
