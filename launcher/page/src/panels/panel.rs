//! What a panel consists of.

use charts::Figure;

/// One panel: figures that answer one question.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Lower-case letters and hyphens. It stays the same over releases, because links and file names hold it.
    pub id: &'static str,
    pub title: &'static str,
    /// What a reader asks of it.
    pub question: &'static str,
    /// Its figures, or a sentence that says why it has none.
    pub content: Content,
}

/// The figures of a panel, or why it has none.
pub type Content = Result<Vec<Figure>, String>;
