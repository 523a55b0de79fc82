//! Quantiles of times in little memory: counts in buckets, which are wider for longer times. Pure.
//!
//! The buckets are the buckets of an HDR histogram (<https://hdrhistogram.org>) with 32 buckets per power of two. They are fixed, so that
//! sketches are added exactly. A sketch keeps only the powers of two in which it has counts: most times in a bin of a series lie in two to
//! four of them.

use crate::wire::{Reader, Wire, WireError, Writer, fields};

/// Buckets per power of two, as a power of two.
const BUCKET_BITS: u32 = 5;
const BUCKETS: usize = 1 << BUCKET_BITS;
/// The shortest time that is distinguished from zero, 1.024 us, as a power of two of nanoseconds.
const UNIT_BITS: u32 = 10;
/// The longest time, an hour: about 2^32 units.
const MAX: u64 = 3_600_000_000_000;

/// Counts of times in nanoseconds. A quantile differs from the true quantile by at most 1/64 (1.6 %) of it, or 0.6 us if that is more.
///
/// It holds at most 28 octaves of 132 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuantileSketch {
    /// In ascending order. No octave is empty.
    octaves: Vec<Octave>,
}

/// The times from one power of two to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Octave {
    number: u8,
    /// Counts that are full stay at the maximum.
    counts: [u32; BUCKETS],
}

/// A bucket with counts. The edges are in nanoseconds; a time at the upper edge belongs to the next bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    pub low: f64,
    pub high: f64,
    pub count: u64,
}

impl QuantileSketch {
    /// A time above an hour counts as an hour.
    pub(super) fn record(&mut self, nanos: u64) {
        let (octave, bucket) = bucket(nanos);
        let count = &mut self.octave(octave).counts[bucket];
        *count = count.saturating_add(1);
    }

    /// Adds the counts of another sketch. Exact up to four billion counts in a bucket.
    pub fn add(&mut self, other: &QuantileSketch) {
        for theirs in &other.octaves {
            let mine = self.octave(theirs.number);
            for (mine, theirs) in mine.counts.iter_mut().zip(theirs.counts) {
                *mine = mine.saturating_add(theirs);
            }
        }
    }

    pub fn count(&self) -> u64 {
        self.counts().map(|(_, count)| count).sum()
    }

    /// The value of rank ceil(count x percent / 100), in nanoseconds: the middle of its bucket. `None` without counts.
    pub fn percentile(&self, percent: u32) -> Option<f64> {
        let rank = (u128::from(self.count()) * u128::from(percent)).div_ceil(100).max(1);
        let mut passed = 0;
        let found = self.counts().find(|(_, count)| {
            passed += u128::from(*count);
            passed >= rank
        });
        found.map(|(nanos, _)| nanos)
    }

    /// The middle of each bucket with counts, in nanoseconds, and its count, in ascending order.
    pub fn counts(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.buckets().map(|it| (f64::midpoint(it.low, it.high), it.count))
    }

    /// The buckets with counts, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.octaves.iter().flat_map(|octave| {
            let counts = octave.counts.iter().enumerate().filter(|(_, count)| **count > 0);
            counts.map(|(bucket, count)| {
                let (low, high) = edges(octave.number, bucket);
                Bucket { low, high, count: u64::from(*count) }
            })
        })
    }

    fn octave(&mut self, number: u8) -> &mut Octave {
        // A linear search, because there are few octaves.
        let place = self.octaves.iter().position(|it| it.number >= number).unwrap_or(self.octaves.len());
        if self.octaves.get(place).is_none_or(|it| it.number != number) {
            // A vector that doubles would allocate room for four.
            self.octaves.reserve_exact(1);
            self.octaves.insert(place, Octave { number, counts: [0; BUCKETS] });
        }
        &mut self.octaves[place]
    }

    /// Heap size in bytes.
    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        self.octaves.capacity() * size_of::<Octave>()
    }
}

/// The octave and the bucket of a time. Octave 0 has the times below 32 units, one bucket per unit.
fn bucket(nanos: u64) -> (u8, usize) {
    let units = nanos.min(MAX) >> UNIT_BITS;
    let octave = (u64::BITS - (units >> BUCKET_BITS).leading_zeros()) as u8;
    let shift = octave.saturating_sub(1);
    (octave, (units >> shift) as usize % BUCKETS)
}

/// The edges of a bucket, in nanoseconds.
fn edges(octave: u8, bucket: usize) -> (f64, f64) {
    let (shift, first) = if octave == 0 { (0, 0) } else { (octave - 1, BUCKETS) };
    let edge = |bucket: usize| (first + bucket) as f64 * (1_u64 << shift) as f64 * (1_u64 << UNIT_BITS) as f64;
    (edge(bucket), edge(bucket + 1))
}

fields!(Octave { number, counts });

impl Wire for QuantileSketch {
    fn write(&self, to: &mut Writer) {
        self.octaves.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<QuantileSketch, WireError> {
        let octaves = Vec::<Octave>::read(from)?;
        let is_sorted = octaves.is_sorted_by(|one, other| one.number < other.number);
        let has_counts = octaves.iter().all(|it| it.counts.iter().any(|count| *count > 0));
        if !is_sorted || !has_counts || octaves.last().is_some_and(|it| it.number > bucket(MAX).0) {
            return Err(WireError::Value { what: "sketch" });
        }
        Ok(QuantileSketch { octaves })
    }
}
