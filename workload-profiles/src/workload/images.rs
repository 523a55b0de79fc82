//! Synthetic images in chats.

use serde::{Deserialize, Serialize};

use super::LengthDistribution;

/// Images that the launcher generates and adds to the user message. Only chat requests can contain them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Images {
    /// Number of images per request.
    pub per_request: LengthDistribution,
    /// The possible sizes. Each image draws one of them. Not empty.
    pub sizes: Vec<ImageSize>,
    /// How the images are encoded.
    pub encoding: ImageEncoding,
    /// The position of the images in the message.
    pub place: ImagePlace,
    /// Whether all requests with the same shared prefix have the same images.
    pub shared_by_group: bool,
}

/// The size of an image in pixels. Each side has 1 to 8,192 pixels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageSize {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The probability of this size is its weight divided by the sum of all weights. Above 0.
    pub weight: f64,
}

/// How an image is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ImageEncoding {
    /// PNG of random pixels.
    Png,
    /// JPEG of random pixels.
    Jpeg,
}

/// The position of images in the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ImagePlace {
    /// Before the text.
    #[default]
    BeforeText,
    /// After the text.
    AfterText,
    /// Before or after the text, drawn for each request.
    Random,
}
