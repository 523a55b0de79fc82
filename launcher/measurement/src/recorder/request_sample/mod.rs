//! A sample of a load's requests, with a maximum size. Pure.
//!
//! Bottom-k sampling: the rank of a request is a hash of its stage and number, and the requests with the lowest ranks are kept. So every
//! request has the same chance. The sample does not depend on the order of the requests, nor on which recorder got them, so the samples of
//! several recorders can be merged exactly (Cohen and Kaplan, Summarizing data using bottom-k sketches, 2007). A request costs one hash and
//! one comparison.

use std::time::Duration;

use crate::{
    record::{RequestOutcome, RequestRecord},
    wire::{Reader, Wire, WireError, Writer},
};

/// Maximum number of requests in a sample: as many as a chart can show with one line each, and about 20 KB in `report.json`. A sample takes
/// less than 50 KB of memory.
pub const MOST_SAMPLED: usize = 300;

/// What is kept of a sampled request. Times are from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampledRequest {
    /// First, because the derived order of requests must be by rank.
    rank: u64,
    /// Index of the stage in the workload.
    pub stage: u32,
    pub number: u64,
    pub scheduled: Duration,
    pub sent: Option<Duration>,
    pub first_token: Option<Duration>,
    pub ended: Duration,
    pub outcome: RequestOutcome,
}

impl SampledRequest {
    fn new(rank: u64, request: &RequestRecord) -> SampledRequest {
        SampledRequest {
            rank,
            stage: request.stage,
            number: request.number,
            scheduled: request.scheduled,
            sent: request.sent,
            first_token: request.first_token,
            ended: request.ended,
            outcome: request.outcome,
        }
    }
}

/// A sample of the recorded requests, at most [`MOST_SAMPLED`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestSample {
    /// Sorted by rank.
    kept: Vec<SampledRequest>,
    of: u64,
}

impl RequestSample {
    /// Counts a request, and keeps it if its rank is low enough.
    pub fn record(&mut self, request: &RequestRecord) {
        self.of += 1;
        let rank = rank(request.stage, request.number);
        if self.kept.len() >= MOST_SAMPLED && self.kept.last().is_some_and(|it| it.rank < rank) {
            return;
        }
        let request = SampledRequest::new(rank, request);
        let place = self.kept.partition_point(|it| *it < request);
        self.kept.insert(place, request);
        self.kept.truncate(MOST_SAMPLED);
    }

    /// Merges a sample of other requests of the same run.
    pub fn add(&mut self, other: &RequestSample) {
        self.of += other.of;
        self.kept.extend(&other.kept);
        self.kept.sort_unstable();
        self.kept.truncate(MOST_SAMPLED);
    }

    /// Returns the number of requests that the sample was drawn from.
    pub fn population(&self) -> u64 {
        self.of
    }

    /// Returns the sampled requests. They are not sorted by time.
    pub fn requests(&self) -> &[SampledRequest] {
        &self.kept
    }
}

/// Hashes stage and number of a request, each with the finalizer of SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number
/// generators, 2014).
fn rank(stage: u32, number: u64) -> u64 {
    mixed(mixed(u64::from(stage)).wrapping_add(number))
}

fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Written without the rank, which follows from stage and number.
impl Wire for SampledRequest {
    fn write(&self, to: &mut Writer) {
        let SampledRequest { rank: _, stage, number, scheduled, sent, first_token, ended, outcome } = self;
        stage.write(to);
        number.write(to);
        scheduled.write(to);
        sent.write(to);
        first_token.write(to);
        ended.write(to);
        outcome.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<SampledRequest, WireError> {
        let (stage, number) = Wire::read(from)?;
        Ok(SampledRequest {
            rank: rank(stage, number),
            stage,
            number,
            scheduled: Wire::read(from)?,
            sent: Wire::read(from)?,
            first_token: Wire::read(from)?,
            ended: Wire::read(from)?,
            outcome: Wire::read(from)?,
        })
    }
}

impl Wire for RequestSample {
    fn write(&self, to: &mut Writer) {
        self.of.write(to);
        self.kept.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<RequestSample, WireError> {
        let (of, kept) = <(u64, Vec<SampledRequest>)>::read(from)?;
        if kept.len() > MOST_SAMPLED || kept.len() as u64 > of || !kept.is_sorted() {
            return Err(WireError::Value { what: "sample of requests" });
        }
        Ok(RequestSample { kept, of })
    }
}

#[cfg(test)]
mod tests;
