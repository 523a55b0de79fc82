//! The parts of a panel.

use charts::Figure;

/// A panel: figures that answer one question of the reader.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The id, in lower-case letters and hyphens. Must not change between releases, because links and file names contain it.
    pub id: &'static str,
    pub title: &'static str,
    /// The question that the panel answers.
    pub question: &'static str,
    /// The figures of the panel, or a sentence that explains why there are none.
    pub content: Content,
}

/// The figures of a panel, or a sentence that explains why there are none.
pub type Content = Result<Vec<Figure>, String>;
