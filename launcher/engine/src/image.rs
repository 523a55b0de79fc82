//! Images as a request holds them.

/// An encoded image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: &'static str,
    /// The file in base64 with padding.
    pub base64: Box<str>,
}
