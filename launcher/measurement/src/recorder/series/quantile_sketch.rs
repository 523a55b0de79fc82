//! Estimates quantiles of times in little memory, with counts in buckets that are wider for longer times. Pure.
//!
//! The buckets are those of an HDR histogram (<https://hdrhistogram.org>) with 32 buckets per power of two. They are fixed, so sketches can be merged
//! exactly. A sketch stores only the powers of two in which it has counts: in a bin of a series, most times fall into two to four of these powers.

use crate::wire::{Reader, Wire, WireError, Writer, fields};

/// Number of buckets per power of two, as an exponent of two.
const BUCKET_BITS: u32 = 5;
const BUCKETS: usize = 1 << BUCKET_BITS;
/// The shortest time that is distinguished from zero, 1.024 us, as an exponent of two in nanoseconds.
const UNIT_BITS: u32 = 10;
/// The longest time, one hour in nanoseconds, which is about 2^32 units.
const MAX: u64 = 3_600_000_000_000;

/// Counts of times in nanoseconds. A quantile differs from the true one by at most 1/64 (1.6 %), or by 0.6 us if that is more.
///
/// Contains at most 28 octaves, of 132 bytes each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuantileSketch {
    /// The octaves in ascending order. None is empty.
    octaves: Vec<Octave>,
}

/// The counts of times from one power of two to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Octave {
    number: u8,
    /// The count per bucket. A full counter stays at its maximum.
    counts: [u32; BUCKETS],
}

/// A bucket that has counts. Its edges are in nanoseconds. A time at the upper edge belongs to the next bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    pub low: f64,
    pub high: f64,
    pub count: u64,
}

impl QuantileSketch {
    /// Counts a time. A time above one hour counts as one hour.
    pub(super) fn record(&mut self, nanos: u64) {
        let (octave, bucket) = bucket(nanos);
        let count = &mut self.octave(octave).counts[bucket];
        *count = count.saturating_add(1);
    }

    /// Merges another sketch. Exact as long as a bucket has at most four billion counts.
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

    /// Returns the value of rank ceil(count x percent / 100), in nanoseconds, as the middle of its bucket. `None` if there are no counts.
    pub fn percentile(&self, percent: u32) -> Option<f64> {
        let rank = (u128::from(self.count()) * u128::from(percent)).div_ceil(100).max(1);
        let mut passed = 0;
        let found = self.counts().find(|(_, count)| {
            passed += u128::from(*count);
            passed >= rank
        });
        found.map(|(nanos, _)| nanos)
    }

    /// Returns the middle of each non-empty bucket, in nanoseconds, with its count, in ascending order.
    pub fn counts(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.buckets().map(|it| (f64::midpoint(it.low, it.high), it.count))
    }

    /// Returns the non-empty buckets in ascending order.
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
        // A linear search is enough, because there are few octaves.
        let place = self.octaves.iter().position(|it| it.number >= number).unwrap_or(self.octaves.len());
        if self.octaves.get(place).is_none_or(|it| it.number != number) {
            // Without this, a growing vector would allocate room for four octaves.
            self.octaves.reserve_exact(1);
            self.octaves.insert(place, Octave { number, counts: [0; BUCKETS] });
        }
        &mut self.octaves[place]
    }

    /// Returns the heap size in bytes.
    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        self.octaves.capacity() * size_of::<Octave>()
    }
}

/// Returns the octave and the bucket of a time. Octave 0 contains the times below 32 units, with one bucket per unit.
fn bucket(nanos: u64) -> (u8, usize) {
    let units = nanos.min(MAX) >> UNIT_BITS;
    let octave = (u64::BITS - (units >> BUCKET_BITS).leading_zeros()) as u8;
    let shift = octave.saturating_sub(1);
    (octave, (units >> shift) as usize % BUCKETS)
}

/// Returns the edges of a bucket, in nanoseconds.
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
