//! What a panel consists of.

use charts::Figure;

/// One panel: figures that answer one question.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Lower-case letters and hyphens. It is stable over releases, because links and file names contain it.
    pub id: &'static str,
    pub title: &'static str,
    /// The reader's question that the panel answers.
    pub question: &'static str,
    /// The figures of the panel, or a sentence with the reason why it has none.
    pub content: Content,
}

/// The figures of a panel, or why it has none.
pub type Content = Result<Vec<Figure>, String>;
