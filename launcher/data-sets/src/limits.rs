//! Limits on reading.

/// Maximum number of bytes that are read, after decompression. Five times the size of MLPerf's largest data set, if that is written with one token
/// per line.
pub(super) const MAX_BYTES: u64 = 4 << 30;
/// Maximum bytes of a line, or of a row in an array. Enough for a prompt of two million tokens, and for the other columns.
pub(super) const MAX_ROW: usize = 64 << 20;
/// Maximum number of rows if all are read. A thousand times the number of rows in MLPerf's largest data set.
pub(super) const MAX_ROWS: u64 = 20_000_000;
/// Maximum bytes of memory for all prompts. Enough for 250 million token ids.
pub(super) const MAX_KEPT: usize = 1 << 30;

/// Limits on reading. Tests use lower ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum bytes of the file, after decompression.
    pub(super) file: u64,
    /// Maximum bytes of a row.
    pub(super) row: usize,
    /// Maximum bytes of memory for all rows.
    pub(super) kept: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { file: MAX_BYTES, row: MAX_ROW, kept: MAX_KEPT }
    }
}
