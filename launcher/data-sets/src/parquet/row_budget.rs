//! Limits the memory of one row. A few bytes of a repeated column can refer many times to a long value in the dictionary, and the library copies the
//! value each time.

use bytes::Buf as _;
use parquet::{
    basic::{Encoding, Type},
    errors::Result,
    schema::types::ColumnDescriptor,
};

use super::pages::external;

/// Maximum bytes of memory for a row, over all repeated columns.
pub(super) const MAX_ROW: u64 = 512 << 20;
/// Additional bytes of memory per value in a list.
const IN_LIST: u64 = 128;
/// Additional bytes of memory per value in a list of objects.
const IN_OBJECT: u64 = 1 << 10;
/// Number of parts in the path to a value of a simple list: the column, the list and the element.
const LIST_PARTS: usize = 3;

/// Estimates how much memory a row of a repeated column needs at most. Each value from a dictionary counts as long as the longest value there.
pub(super) struct RowBudget {
    /// Maximum bytes per row in this column.
    most: u64,
    /// Number of bits of a repetition level.
    width: u32,
    /// Additional bytes of memory per value.
    overhead: u64,
    /// Length of a value, if all values have the same length.
    fixed: Option<u64>,
    /// Length of the longest value in the dictionary.
    longest: u64,
    /// Bytes of the row that is still incomplete at the end of the last page.
    begun: u64,
}

impl RowBudget {
    /// `None` if the column is not repeated. Then each row has one value, which is at most as long as its page.
    pub(super) fn new(column: &ColumnDescriptor, most: u64) -> Option<RowBudget> {
        let levels = u16::try_from(column.max_rep_level()).ok().filter(|it| *it > 0)?;
        Some(RowBudget {
            most,
            width: u16::BITS - levels.leading_zeros(),
            overhead: if column.path().parts().len() > LIST_PARTS { IN_OBJECT } else { IN_LIST },
            fixed: match column.physical_type() {
                Type::BYTE_ARRAY => None,
                Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.type_length()).ok(),
                Type::BOOLEAN | Type::INT32 | Type::INT64 | Type::INT96 | Type::FLOAT | Type::DOUBLE => Some(0),
            },
            longest: 0,
            begun: 0,
        })
    }

    /// Processes the page with the dictionary.
    pub(super) fn dictionary(&mut self, mut page: &[u8]) {
        self.longest = self.fixed.unwrap_or_default();
        while self.fixed.is_none() && page.remaining() >= 4 {
            let length = page.get_u32_le();
            self.longest = self.longest.max(u64::from(length));
            page.advance((length as usize).min(page.len()));
        }
    }

    /// Processes a page with this number of values. `levels` are their repetition levels; `None` if the encoding of the levels is unknown.
    ///
    /// # Errors
    /// A row would need too much memory.
    pub(super) fn page(&mut self, page: &[u8], encoding: Encoding, values: u32, levels: Option<&[u8]>) -> Result<()> {
        let length = page.len() as u64;
        let (of_value, of_page) = match encoding {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => (self.longest, 0),
            // With this encoding, each value may share a prefix with the previous value. So each value can be as long as the page.
            Encoding::DELTA_BYTE_ARRAY => (length, 0),
            _ => (0, length),
        };
        let bytes = |values: u64| match values {
            0 => 0,
            values => values.saturating_mul(of_value.saturating_add(self.overhead)).saturating_add(of_page),
        };
        let (mut longest, mut begun, mut in_row) = (0, self.begun, 0_u64);
        let mut left = u64::from(values);
        for (count, begins) in levels.into_iter().flat_map(|it| Runs { bytes: it, width: self.width, group: None }) {
            let count = count.min(left);
            left -= count;
            if begins && count > 0 {
                longest = longest.max(bytes(in_row).saturating_add(begun));
                (begun, in_row) = (0, 1);
            } else {
                in_row += count;
            }
        }
        // If the levels of some values are unknown, these values count as part of the current row.
        self.begun = bytes(in_row + left).saturating_add(begun);
        if longest.max(self.begun) > self.most {
            return Err(external(format!(
                "a row may need more than {} bytes of memory, by its number of values and the longest of them; leave long rows out, or write the column without a dictionary",
                self.most
            )));
        }
        Ok(())
    }
}

/// Iterates over runs of repetition levels as (length, whether each level begins a row). In the file, a run either repeats one level, or has groups
/// of eight different levels.
struct Runs<'a> {
    bytes: &'a [u8],
    /// Number of bits of a level.
    width: u32,
    /// For a run of groups: (number of remaining levels, position of the next bit, bytes).
    group: Option<(u64, u64, &'a [u8])>,
}

impl Iterator for Runs<'_> {
    type Item = (u64, bool);

    fn next(&mut self) -> Option<(u64, bool)> {
        if let Some((left, bit, bytes)) = self.group.take() {
            let is_set = |bit: u64| bytes.get((bit / 8) as usize).is_some_and(|it| it >> (bit % 8) & 1 == 1);
            let begins = !(bit..bit + u64::from(self.width)).any(is_set);
            self.group = Some((left - 1, bit + u64::from(self.width), bytes)).filter(|it| it.0 > 0);
            return Some((1, begins));
        }
        let mut header = 0_u64;
        for shift in (0..35).step_by(7) {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            header |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let count = header >> 1;
        if header & 1 == 0 {
            let level = self.bytes.split_off(..self.width.div_ceil(8) as usize)?;
            return Some((count, level.iter().all(|it| *it == 0)));
        }
        let length = usize::try_from(count.saturating_mul(u64::from(self.width))).ok()?;
        let bytes = self.bytes.split_off(..length.min(self.bytes.len()))?;
        self.group = Some((8 * count, 0, bytes)).filter(|_| count > 0);
        self.next()
    }
}
