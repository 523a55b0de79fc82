//! The bounds on reading.

/// Maximum bytes to read, after decompression: five times MLPerf's largest data set with one token per line.
pub(super) const MAX_BYTES: u64 = 4 << 30;
/// Maximum bytes of a line, or of a row in an array: a prompt of two million tokens and the other columns.
pub(super) const MAX_ROW: usize = 64 << 20;
/// Maximum rows if all are read: a thousand times the rows of MLPerf's largest data set.
pub(super) const MAX_ROWS: u64 = 20_000_000;
/// Maximum bytes of memory for all prompts: 250 million token ids.
pub(super) const MAX_KEPT: usize = 1 << 30;

/// The bounds on reading. Tests lower them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes of the file after decompression.
    pub(super) file: u64,
    /// Bytes of a row.
    pub(super) row: usize,
    /// Bytes of memory for all rows.
    pub(super) kept: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { file: MAX_BYTES, row: MAX_ROW, kept: MAX_KEPT }
    }
}
