//! An encoded image, ready for a request.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// For example `image/png`.
    pub media_type: &'static str,
    /// The file's bytes in base64 with padding.
    pub base64: Box<str>,
}
