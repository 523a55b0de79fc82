//! The use of a drawing, and its size.

/// The size of a drawing in pixels, limited to the range from 240 x 160 to 4000 x 4000. If title and legend leave no space for the data, the drawing
/// becomes higher than this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    pub width: f64,
    pub height: f64,
}

impl Default for Size {
    /// The default is wide enough for a column of a page, and still readable on a phone.
    fn default() -> Size {
        Size { width: 520.0, height: 290.0 }
    }
}

/// Where a drawing is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// In a separate file. The drawing contains its colours, title, legend and caption.
    Standalone,
    /// Within a page that includes `assets::style`. CSS variables define the colours, and `html::figure` writes title, legend and caption.
    Inline,
}

/// The characters of an id that can appear in an attribute and in a reference.
pub(crate) fn element_id(id: &str) -> String {
    let id: String = id.chars().filter(|it| it.is_ascii_alphanumeric() || *it == '-').take(80).collect();
    if id.is_empty() { "figure".to_owned() } else { id }
}
