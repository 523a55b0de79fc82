//! The purpose of a drawing, and its size.

/// The size of a drawing in pixels. It is clamped between 240 x 160 and 4000 x 4000. If title and legend leave no room for the data, the drawing
/// becomes higher.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    pub width: f64,
    pub height: f64,
}

impl Default for Size {
    /// Wide enough for a column of a page, and readable on a phone.
    fn default() -> Size {
        Size { width: 520.0, height: 290.0 }
    }
}

/// The environment of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// None: the drawing contains its colours, title, legend and caption.
    Standalone,
    /// A page with `assets::style`: its variables give the colours, and `html::figure` writes title, legend and caption.
    Inline,
}

/// The part of an id that may stand in an attribute and a reference.
pub(crate) fn element_id(id: &str) -> String {
    let id: String = id.chars().filter(|it| it.is_ascii_alphanumeric() || *it == '-').take(80).collect();
    if id.is_empty() { "figure".to_owned() } else { id }
}
