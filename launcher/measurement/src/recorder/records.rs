//! Keeps the records in blocks, so that no record is copied when their number grows or when workers are merged. The total number is
//! limited, so that a long run does not use up the memory.

use std::{
    iter::Flatten,
    slice,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    vec,
};

use crate::{
    record::RequestRecord,
    wire::{Reader, Wire, WireError, Writer},
};

/// Number of records per block. A block takes less than a megabyte.
const BLOCK: usize = 4_096;
/// Memory for a request's entry on the tape, in bytes, without times between tokens.
const PER_ENTRY: usize = 8;

/// The memory that remains for the records of all recorders of a load.
#[derive(Clone, Debug, Default)]
pub struct RecordBudget(Arc<Blocks>);

#[derive(Debug, Default)]
struct Blocks {
    /// Number of bytes left; `None` means no limit.
    left: Option<AtomicU64>,
    /// Set when a recorder had no room for a record. From then on no recorder keeps records.
    is_spent: AtomicBool,
}

impl RecordBudget {
    /// Memory per record, in bytes: the record itself, its entry on the tape, and its share of the data that the report sorts.
    pub const BYTES_PER_RECORD: u64 =
        (size_of::<RequestRecord>() + size_of::<InFigures>() + PER_ENTRY + 3 * size_of::<u64>()) as u64;
    /// Memory for the tape entries of a block of records, in bytes, without times between tokens.
    pub(super) const TAPE_OF_BLOCK: u64 = (BLOCK * PER_ENTRY) as u64;
    const BYTES_PER_BLOCK: u64 = BLOCK as u64 * Self::BYTES_PER_RECORD;

    /// Creates a budget with room for this many records, rounded down to whole blocks.
    pub fn for_records(records: u64) -> RecordBudget {
        let left = Some(AtomicU64::new((records / BLOCK as u64).saturating_mul(Self::BYTES_PER_BLOCK)));
        RecordBudget(Arc::new(Blocks { left, is_spent: AtomicBool::new(false) }))
    }

    /// Returns the budget, as a number of records, that surely has room for `records` records, however they are distributed over the recorders. It is
    /// larger, because the last block of each recorder can contain a single record.
    pub fn needed(records: u64, recorders: u64) -> u64 {
        let block = BLOCK as u64;
        let blocks = records.saturating_add(records.min(recorders).saturating_mul(block - 1)) / block;
        blocks.saturating_mul(block)
    }

    /// Takes memory from the budget. Returns `false` if not enough is left.
    pub(super) fn take(&self, bytes: u64) -> bool {
        let Some(left) = &self.0.left else { return true };
        // Relaxed, because no other data depends on this value.
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(bytes)).is_ok()
    }

    /// Returns memory to the budget.
    pub(super) fn give_back(&self, bytes: u64) {
        if let Some(left) = &self.0.left {
            left.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    fn is_spent(&self) -> bool {
        self.0.is_spent.load(Ordering::Relaxed)
    }

    fn spend(&self) {
        self.0.is_spent.store(true, Ordering::Relaxed);
    }
}

/// Which figures a request is part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFigures {
    /// Whether it is part of the figures about sending.
    pub send: bool,
    /// Whether it is part of the figures about latencies and lengths.
    pub answer: bool,
    /// Whether it counts for goodput: it met all goodput limits.
    pub good: bool,
    /// Whether it is part of the figures about failures.
    pub failed: bool,
}

/// Where the next record is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Block,
    NewBlock,
    /// Nowhere, because there is no room.
    None,
}

/// The records, worker by worker, each in the order in which the requests ended.
#[derive(Clone, Debug, Default)]
pub struct Records {
    blocks: Vec<Vec<RequestRecord>>,
    /// For each block, one entry per record.
    in_figures: Vec<Vec<InFigures>>,
    budget: RecordBudget,
    left_out: u64,
}

impl Records {
    pub fn new(budget: RecordBudget) -> Records {
        Records { budget, ..Records::default() }
    }

    /// Creates an empty list. `left_out` is the number of records for which there was no room.
    pub(crate) fn with_left_out(left_out: u64) -> Records {
        Records { left_out, ..Records::default() }
    }

    /// Makes room for the next record, if there is memory.
    pub(super) fn find_place(&mut self) -> Place {
        // After the first dropped record, no worker keeps a record. So the records that remain belong to the requests that ended first.
        match self.has_place() {
            _ if self.budget.is_spent() => Place::None,
            true => Place::Block,
            false if self.begin_block() => Place::NewBlock,
            false => Place::None,
        }
    }

    /// Keeps a record. Returns `false` if there is no room for it.
    pub fn push(&mut self, record: RequestRecord, in_figures: InFigures) -> bool {
        let has_place = self.find_place() != Place::None;
        if let (true, Some(block), Some(flags)) = (has_place, self.blocks.last_mut(), self.in_figures.last_mut()) {
            block.push(record);
            flags.push(in_figures);
        } else {
            self.budget.spend();
            self.left_out += 1;
        }
        has_place
    }

    fn has_place(&self) -> bool {
        self.blocks.last().is_some_and(|it| it.len() < it.capacity())
    }

    fn begin_block(&mut self) -> bool {
        let (mut block, mut flags) = (Vec::new(), Vec::new());
        // If memory runs out in spite of the budget, records are dropped but the run continues.
        let begun = self.budget.take(RecordBudget::BYTES_PER_BLOCK)
            && block.try_reserve_exact(BLOCK).is_ok()
            && flags.try_reserve_exact(BLOCK).is_ok();
        if begun {
            self.blocks.push(block);
            self.in_figures.push(flags);
        }
        begun
    }

    pub fn len(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of records for which there was no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    pub fn iter(&self) -> Flatten<slice::Iter<'_, Vec<RequestRecord>>> {
        self.blocks.iter().flatten()
    }

    /// Returns all records, each with the figures that it is part of.
    pub fn with_figures(&self) -> impl Iterator<Item = (&RequestRecord, InFigures)> {
        self.iter().zip(self.in_figures.iter().flatten().copied())
    }

    /// Appends the records of another worker. Blocks are moved, not copied.
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

/// Written as one byte, with one bit per field.
impl Wire for InFigures {
    fn write(&self, to: &mut Writer) {
        let InFigures { send, answer, good, failed } = *self;
        let bits = [send, answer, good, failed].into_iter().rev().fold(0, |bits, it| bits << 1 | u8::from(it));
        bits.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<InFigures, WireError> {
        let bits = u8::read(from)?;
        let [send, answer, good, failed] = [0, 1, 2, 3].map(|it| bits >> it & 1 == 1);
        if bits < 16 {
            Ok(InFigures { send, answer, good, failed })
        } else {
            Err(WireError::Value { what: "set of figures" })
        }
    }
}

/// Written without the budget, which belongs to the recorders of one process.
impl Wire for Records {
    fn write(&self, to: &mut Writer) {
        self.left_out.write(to);
        self.len().write(to);
        for (record, in_figures) in self.with_figures() {
            record.write(to);
            in_figures.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Records, WireError> {
        let mut records = Records::with_left_out(u64::read(from)?);
        let count = from.count()?;
        let blocks = count.div_ceil(BLOCK) * BLOCK;
        from.allocate(blocks.saturating_mul(size_of::<RequestRecord>() + size_of::<InFigures>()))?;
        for _ in 0..count {
            let (record, in_figures) = Wire::read(from)?;
            if !records.push(record, in_figures) {
                return Err(from.out_of_memory());
            }
        }
        Ok(records)
    }
}
