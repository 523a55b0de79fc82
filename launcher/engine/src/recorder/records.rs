//! What is kept of each request: in blocks, so that no copy is made while it grows or when threads are merged; to a bound, so that
//! a long run does not take all the memory that there is.

use std::{
    iter::Flatten,
    slice,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    vec,
};

use crate::record::RequestRecord;

/// Records of a block: less than a megabyte.
const BLOCK: usize = 4_096;

/// How many blocks of records may still be begun, by all recorders of a load together.
#[derive(Clone, Debug, Default)]
pub struct RecordBudget(Arc<Blocks>);

#[derive(Debug, Default)]
struct Blocks {
    /// Those left; `None`: as many as there is memory for.
    left: Option<AtomicU64>,
    /// A recorder had no room for a record: none keeps another one.
    is_spent: AtomicBool,
}

impl RecordBudget {
    /// What a record takes: itself, and its share of what the report sorts.
    pub const BYTES_PER_RECORD: u64 =
        (size_of::<RequestRecord>() + size_of::<InFigures>() + 3 * size_of::<u64>()) as u64;

    /// Room for so many records, to whole blocks.
    pub fn for_records(records: u64) -> RecordBudget {
        let left = Some(AtomicU64::new(records / BLOCK as u64));
        RecordBudget(Arc::new(Blocks { left, is_spent: AtomicBool::new(false) }))
    }

    /// The records that there must be room for so that so many are all kept, however they fall to the recorders: the last block
    /// of each may have a single one.
    pub fn needed(records: u64, recorders: u64) -> u64 {
        let block = BLOCK as u64;
        let blocks = records.saturating_add(records.min(recorders).saturating_mul(block - 1)) / block;
        blocks.saturating_mul(block)
    }

    /// Whether there is room for another block, which is then taken.
    fn take(&self) -> bool {
        let Some(left) = &self.0.left else { return true };
        // Relaxed: nothing else is read by it.
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1)).is_ok()
    }

    fn is_spent(&self) -> bool {
        self.0.is_spent.load(Ordering::Relaxed)
    }

    fn spend(&self) {
        self.0.is_spent.store(true, Ordering::Relaxed);
    }
}

/// Which figures a request is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFigures {
    /// Those of when it was sent.
    pub send: bool,
    /// Latencies and lengths.
    pub answer: bool,
}

/// Records in the order in which they came, or one thread's after the other's.
#[derive(Clone, Debug, Default)]
pub struct Records {
    blocks: Vec<Vec<RequestRecord>>,
    /// For each record of each block.
    in_figures: Vec<Vec<InFigures>>,
    budget: RecordBudget,
    left_out: u64,
}

impl Records {
    /// Without any yet.
    pub fn new(budget: RecordBudget) -> Records {
        Records { budget, ..Records::default() }
    }

    /// Keeps one; `false`: there is no room for it.
    pub fn push(&mut self, record: RequestRecord, in_figures: InFigures) -> bool {
        // One that was left out is followed by none, of any thread: what is kept are the requests that ended first.
        let kept = !self.budget.is_spent() && (self.has_place() || self.begin_block());
        if let (true, Some(block), Some(flags)) = (kept, self.blocks.last_mut(), self.in_figures.last_mut()) {
            block.push(record);
            flags.push(in_figures);
        } else {
            self.budget.spend();
            self.left_out += 1;
        }
        kept
    }

    fn has_place(&self) -> bool {
        self.blocks.last().is_some_and(|it| it.len() < it.capacity())
    }

    fn begin_block(&mut self) -> bool {
        let (mut block, mut flags) = (Vec::new(), Vec::new());
        // Memory that runs out in spite of the bound costs records, and not the run.
        let begun =
            self.budget.take() && block.try_reserve_exact(BLOCK).is_ok() && flags.try_reserve_exact(BLOCK).is_ok();
        if begun {
            self.blocks.push(block);
            self.in_figures.push(flags);
        }
        begun
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Requests for which there was no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// All.
    pub fn iter(&self) -> Flatten<slice::Iter<'_, Vec<RequestRecord>>> {
        self.blocks.iter().flatten()
    }

    /// All, and which figures each is in.
    pub fn with_figures(&self) -> impl Iterator<Item = (&RequestRecord, InFigures)> {
        self.iter().zip(self.in_figures.iter().flatten().copied())
    }

    /// Adds those of another thread. Blocks change hands; none is copied.
    pub fn append(&mut self, other: Records) {
        self.blocks.extend(other.blocks);
        self.in_figures.extend(other.in_figures);
        self.left_out += other.left_out;
    }
}

impl<'a> IntoIterator for &'a Records {
    type Item = &'a RequestRecord;
    type IntoIter = Flatten<slice::Iter<'a, Vec<RequestRecord>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Records {
    type Item = RequestRecord;
    type IntoIter = Flatten<vec::IntoIter<Vec<RequestRecord>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.blocks.into_iter().flatten()
    }
}

impl FromIterator<RequestRecord> for Records {
    fn from_iter<T: IntoIterator<Item = RequestRecord>>(all: T) -> Records {
        let mut records = Records::default();
        for record in all {
            records.push(record, InFigures::default());
        }
        records
    }
}
