//! The possible widths of the bins in a time series. Pure.

use crate::wire::{Reader, Wire, WireError, Writer};

/// The smallest width, 62.5 ms in nanoseconds. A stage of 15 s has 240 bins of this width.
const BASE: u64 = 62_500_000;
/// The largest width is `BASE` doubled this many times. Two bins of this width cover all times that fit into 64 bits.
const MOST_DOUBLINGS: u32 = 38;

/// The width of a bin: 62.5 ms times a power of two. A bin starts at a multiple of its width from time zero of the run, so two neighbouring
/// bins can be merged into one of twice the width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BinWidth {
    doublings: u32,
}

impl BinWidth {
    pub(super) fn nanos(self) -> u64 {
        BASE << self.doublings
    }

    /// Returns the number of the bin that contains a time. Bins count from time zero of the run.
    pub(super) fn bin(self, at: u64) -> u64 {
        (at / BASE) >> self.doublings
    }

    pub(super) fn doubled(self) -> BinWidth {
        BinWidth { doublings: (self.doublings + 1).min(MOST_DOUBLINGS) }
    }
}

impl Wire for BinWidth {
    fn write(&self, to: &mut Writer) {
        self.doublings.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<BinWidth, WireError> {
        let doublings = u32::read(from)?;
        if doublings > MOST_DOUBLINGS {
            Err(WireError::Value { what: "width of a bin" })
        } else {
            Ok(BinWidth { doublings })
        }
    }
}
