//! How the rows of a data set were used. Pure.

use crate::wire::fields;

/// How the rows of a data set were used in a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsUsed {
    /// Number of rows that the load can use. If the rows are conversations: number of conversations.
    pub rows: u64,
    /// Number of rows sent, including repetitions and the warm-up.
    pub begun: u64,
    /// Number of distinct rows sent.
    pub distinct: u64,
}

impl RowsUsed {
    /// Returns how many times a row was sent again.
    pub fn repeated(self) -> u64 {
        self.begun.saturating_sub(self.distinct)
    }

    /// Returns how many times the load went through all rows; `None` if there are no rows.
    pub fn passes(self) -> Option<f64> {
        (self.rows > 0).then(|| self.begun as f64 / self.rows as f64)
    }
}

fields!(RowsUsed { rows, begun, distinct });
