//! How the rows of a data set were used. Pure.

use crate::wire::fields;

/// How the rows of a data set were used in a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsUsed {
    /// Rows that the load chooses from; of conversations, conversations.
    pub rows: u64,
    /// Rows that were sent, each time that one was, warm-up included.
    pub begun: u64,
    /// Of these, the different ones.
    pub distinct: u64,
}

impl RowsUsed {
    /// How often a row was sent again.
    pub fn repeated(self) -> u64 {
        self.begun.saturating_sub(self.distinct)
    }

    /// How often the load went through the rows; `None` without rows.
    pub fn passes(self) -> Option<f64> {
        (self.rows > 0).then(|| self.begun as f64 / self.rows as f64)
    }
}

fields!(RowsUsed { rows, begun, distinct });
