//! Images in the form in which a request holds them.

/// An encoded image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// For example `image/png`.
    pub media_type: &'static str,
    /// The file in base64 with padding.
    pub base64: Box<str>,
}
