//! Counts the events over the time of a run, in a limited number of bins. Pure.
//!
//! All bins of a series have the same width. If an event does not fit into the allowed number of bins, neighbouring bins are merged in
//! pairs, which doubles the width. So a series takes the same memory for a minute as for a week. Two series are merged without loss,
//! because the finer one is first made as coarse as the other. So the series of some requests does not depend on their order, nor on the
//! number of recorders.
//!
//! Memory: a bin takes 256 bytes, plus 132 bytes per power of two in which it has a TTFT, an ITL, a latency or a send lag. That is 1 to 2
//! KiB in most runs and never above 15 KiB. A run with up to four stages keeps at most 240 bins per stage. A run with more stages keeps at
//! most 960 bins in total, but has room for at least 16 per stage.

mod bin;
mod bin_width;
mod outcome_group;
mod quantile_sketch;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, time::Duration};

pub use bin::Bin;
use bin_width::BinWidth;
pub use outcome_group::OutcomeGroup;
pub use quantile_sketch::{Bucket, QuantileSketch};

use super::wire_tally::{WireTally, several_tokens};
use crate::{
    latency_origin::LatencyOrigin,
    record::RequestRecord,
    wire::{Reader, Wire, WireError, Writer},
};

/// Maximum number of bins in the series of a run: enough to show the course of the run in a chart, and about 30 KB in `report.json`.
pub const RUN_BINS: usize = 240;
/// Maximum total number of bins in all stages, provided that each stage has at least [`FEWEST_BINS`].
const STAGE_BINS: usize = 960;
/// Minimum number of bins that a stage has room for, however many stages there are.
const FEWEST_BINS: usize = 16;

/// The events of a stage or of a run, in bins of equal width. Times are in nanoseconds on the run's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeSeries {
    width: BinWidth,
    /// Number of the first bin.
    first: u64,
    /// The bins from the first one with an event to the last one with an event.
    bins: VecDeque<Bin>,
    most_bins: usize,
    /// The times of the first and the last event.
    extent: Option<(u64, u64)>,
    latency_origin: LatencyOrigin,
}

/// A bin of a series, with the times at which it starts and ends.
struct Place<'a> {
    bin: &'a mut Bin,
    begin: u64,
    end: u64,
}

impl TimeSeries {
    /// Creates an empty series of at most `most_bins` bins, but at least two.
    pub fn new(most_bins: usize, latency_origin: LatencyOrigin) -> TimeSeries {
        TimeSeries {
            width: BinWidth::default(),
            first: 0,
            bins: VecDeque::new(),
            // With one bin, coarsening might not help: two neighbouring bins merge only if the first starts at a multiple of twice their
            // width.
            most_bins: most_bins.max(2),
            extent: None,
            latency_origin,
        }
    }

    /// Creates an empty series for one of `stages` stages.
    pub fn of_stage(stages: usize, latency_origin: LatencyOrigin) -> TimeSeries {
        let most_bins = (STAGE_BINS / stages.max(1)).clamp(FEWEST_BINS, RUN_BINS);
        TimeSeries::new(most_bins, latency_origin)
    }

    /// Returns the series of all stages together. The latencies of each stage keep the stage's own origin.
    pub fn sum<'a>(stages: impl IntoIterator<Item = &'a TimeSeries>) -> TimeSeries {
        let mut sum = TimeSeries::new(RUN_BINS, LatencyOrigin::Scheduled);
        stages.into_iter().for_each(|it| sum.add(it));
        sum
    }

    /// Sets the time from which TTFT and latency are counted. Call it before the first request is recorded.
    pub(super) fn set_latency_origin(&mut self, latency_origin: LatencyOrigin) {
        self.latency_origin = latency_origin;
    }

    pub(super) fn latency_origin(&self) -> LatencyOrigin {
        self.latency_origin
    }

    /// Counts the events of a request, each in the bin of its time.
    pub fn record(&mut self, request: &RequestRecord, wire: &WireTally) {
        self.place(nanos(request.scheduled)).bin.due += 1;
        if let Some(sent) = request.sent.map(nanos) {
            let Place { bin, begin, .. } = self.place(sent);
            bin.sent += 1;
            bin.begin_under_way(sent - begin);
            bin.send_lag.record(nanos(request.send_lag().unwrap_or_default()));
        }
        let arrived = request.first_token.or(request.last_token).map(nanos);
        if let Some(first) = arrived {
            self.record_tokens(first, request, wire);
        }
        if let Some(tokens) = request.input_tokens {
            self.place(arrived.unwrap_or(nanos(request.ended))).bin.input_tokens += u64::from(tokens);
        }
        if request.outcome.is_success() {
            self.record_latencies(request);
        }
        // Makes sure that the request does not end before it is sent.
        let ended = nanos(request.ended.max(request.sent.unwrap_or_default()));
        let Place { bin, begin, .. } = self.place(ended);
        bin.end(OutcomeGroup::from_outcome(request.outcome));
        if request.sent.is_some() {
            bin.end_under_way(ended - begin);
        }
    }

    /// Counts a request that was due but never sent.
    pub fn record_unissued(&mut self, due: Duration) {
        self.place(nanos(due)).bin.due += 1;
    }

    fn record_latencies(&mut self, request: &RequestRecord) {
        let (ttft, latency) = (request.ttft(self.latency_origin), request.latency(self.latency_origin));
        if let Some((at, ttft)) = request.first_token.zip(ttft) {
            self.place(nanos(at)).bin.ttft.record(nanos(ttft));
        }
        if let Some((at, latency)) = request.last_token.zip(latency) {
            self.place(nanos(at)).bin.latency.record(nanos(latency));
        }
    }

    /// Counts the tokens of each event at its arrival and, if the request succeeded, the times between tokens.
    fn record_tokens(&mut self, first: u64, request: &RequestRecord, wire: &WireTally) {
        let (tokens, events) = (u64::from(request.osl()), wire.gaps.len() as u64 + 1);
        let is_success = request.outcome.is_success();
        let several = several_tokens(request, wire);
        let (mut at, mut arrived, mut counted) = (first, 1, 0);
        let mut place = self.place(first);
        for gap in wire.gaps.nanos() {
            at = at.saturating_add(gap);
            if at >= place.end {
                // The tokens are distributed evenly over the events. The running total is rounded down to whole tokens, so the sum over the
                // bins is exact, and does not depend on the width of the bins.
                let until = tokens * arrived / events;
                place.bin.output_tokens += until - counted;
                counted = until;
                place = self.place(at);
            }
            arrived += 1;
            if is_success {
                place.bin.itl.record(several.map_or(gap, |it| divided(gap, it)));
            }
        }
        place.bin.output_tokens += tokens - counted;
    }

    /// Returns the bin of a time, and makes room for it if necessary.
    fn place(&mut self, at: u64) -> Place<'_> {
        self.extent = Some(self.extent.map_or((at, at), |(first, last)| (first.min(at), last.max(at))));
        let mut bin = self.width.bin(at);
        while !self.has_room(bin, bin) {
            self.coarsen();
            bin = self.width.bin(at);
        }
        self.extend(bin, bin);
        let begin = bin * self.width.nanos();
        let end = begin.saturating_add(self.width.nanos());
        Place { bin: &mut self.bins[(bin - self.first) as usize], begin, end }
    }

    /// Returns the numbers that the first and the last bin of the series would have if it also included these bins.
    fn span_with(&self, first: u64, last: u64) -> (u64, u64) {
        match self.bins.len() as u64 {
            0 => (first, last),
            count => (first.min(self.first), last.max(self.first + count - 1)),
        }
    }

    fn has_room(&self, first: u64, last: u64) -> bool {
        let (first, last) = self.span_with(first, last);
        last - first < self.most_bins as u64
    }

    /// Adds empty bins so that the series includes these bins. There must be room for them.
    fn extend(&mut self, first: u64, last: u64) {
        let (first, last) = self.span_with(first, last);
        if self.bins.is_empty() {
            self.first = first;
        }
        while self.first > first {
            self.bins.push_front(Bin::default());
            self.first -= 1;
        }
        let count = (last - first + 1) as usize;
        if self.bins.len() < count {
            self.bins.resize_with(count, Bin::default);
        }
    }

    /// Doubles the width of the bins.
    fn coarsen(&mut self) {
        let half = self.width.nanos();
        self.width = self.width.doubled();
        let (first, bins) = (self.first, std::mem::take(&mut self.bins));
        self.first = first / 2;
        for (number, mut bin) in (first..).zip(bins) {
            let is_second_half = number % 2 == 1;
            if is_second_half {
                bin.begin_earlier(half);
            }
            match self.bins.back_mut() {
                Some(whole) if is_second_half => whole.add(&bin),
                _ => self.bins.push_back(bin),
            }
        }
    }

    /// Merges another series of the same run. The widths of the bins can differ.
    pub fn add(&mut self, other: &TimeSeries) {
        let Some((first, last)) = other.extent else { return };
        let mut other = other.clone();
        loop {
            let (begin, end) = (self.width.bin(first), self.width.bin(last));
            if self.width < other.width || (self.width == other.width && !self.has_room(begin, end)) {
                self.coarsen();
            } else if other.width < self.width {
                other.coarsen();
            } else {
                break;
            }
        }
        self.extent = Some(self.extent.map_or((first, last), |it| (it.0.min(first), it.1.max(last))));
        self.extend(self.width.bin(first), self.width.bin(last));
        let offset = (other.first - self.first) as usize;
        for (mine, theirs) in self.bins.iter_mut().skip(offset).zip(&other.bins) {
            mine.add(theirs);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }

    /// Returns the width of each bin: 62.5 ms times a power of two.
    pub fn bin_width(&self) -> Duration {
        Duration::from_nanos(self.width.nanos())
    }

    /// Returns when the first bin starts, which is a multiple of the width.
    pub fn start(&self) -> Duration {
        Duration::from_nanos(self.first * self.width.nanos())
    }

    /// Returns the times of the first and the last event; `None` if there are no events.
    pub fn extent(&self) -> Option<(Duration, Duration)> {
        self.extent.map(|(first, last)| (Duration::from_nanos(first), Duration::from_nanos(last)))
    }

    /// Returns the bins in the order of time, without gaps, each with its mean number of requests in flight.
    pub fn bins(&self) -> impl ExactSizeIterator<Item = (&Bin, f64)> {
        let width = self.width.nanos();
        self.times_under_way().map(move |(bin, time)| (bin, time as f64 / width as f64))
    }

    /// Returns the bins, each with the time that requests were in flight, in nanoseconds summed over the requests.
    fn times_under_way(&self) -> impl ExactSizeIterator<Item = (&Bin, i128)> {
        let (width, mut before) = (self.width.nanos(), 0);
        self.bins.iter().map(move |bin| {
            let time = bin.time_under_way(before, width);
            before += bin.net_under_way();
            (bin, time)
        })
    }

    /// Returns the heap size in bytes.
    #[cfg(test)]
    fn heap_bytes(&self) -> usize {
        self.bins.capacity() * size_of::<Bin>() + self.bins.iter().map(Bin::heap_bytes).sum::<usize>()
    }
}

impl Wire for TimeSeries {
    fn write(&self, to: &mut Writer) {
        let TimeSeries { width, first, bins, most_bins, extent, latency_origin } = self;
        width.write(to);
        first.write(to);
        bins.write(to);
        most_bins.write(to);
        extent.write(to);
        latency_origin.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<TimeSeries, WireError> {
        let (width, first) = <(BinWidth, u64)>::read(from)?;
        let (bins, most_bins) = <(VecDeque<Bin>, usize)>::read(from)?;
        let (extent, latency_origin) = <(Option<(u64, u64)>, LatencyOrigin)>::read(from)?;
        // The first bin must contain the first event, and the last bin the last event.
        let is_whole = match extent {
            None => bins.is_empty() && first == 0,
            Some((begin, end)) => {
                begin <= end
                    && width.bin(begin) == first
                    && width.bin(end) - first == (bins.len() as u64).wrapping_sub(1)
            }
        };
        if !is_whole || bins.len() > most_bins || !(2..=RUN_BINS).contains(&most_bins) {
            return Err(WireError::Value { what: "series" });
        }
        Ok(TimeSeries { width, first, bins, most_bins, extent, latency_origin })
    }
}

/// Divides a gap by the number of tokens in it, as in the tally of a stage: `tokens` tokens in `gaps` gaps.
fn divided(gap: u64, (tokens, gaps): (u32, u32)) -> u64 {
    u64::try_from(u128::from(gap) * u128::from(gaps) / u128::from(tokens.max(1))).unwrap_or(u64::MAX)
}

/// Converts to nanoseconds. The result is limited to 64 bits, 584 years.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
