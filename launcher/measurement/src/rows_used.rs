//! How the rows of a data set were used. Pure.

use crate::wire::fields;

/// How the rows of a data set were used in a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsUsed {
    /// Rows from which the load chooses; conversations, if the rows are conversations.
    pub rows: u64,
    /// Rows that were sent, including repetitions and the warm-up.
    pub begun: u64,
    /// Distinct rows among them.
    pub distinct: u64,
}

impl RowsUsed {
    /// How often a row was sent again.
    pub fn repeated(self) -> u64 {
        self.begun.saturating_sub(self.distinct)
    }

    /// How many times the load used all rows; `None` without rows.
    pub fn passes(self) -> Option<f64> {
        (self.rows > 0).then(|| self.begun as f64 / self.rows as f64)
    }
}

fields!(RowsUsed { rows, begun, distinct });
