//! `synthetic_image`: images in addition to the text of a chat.

use super::{
    around::{Around, Data},
    tokens::{self, OUTPUT},
};
use crate::{
    problem::quoted,
    reader::{Section, ValueType},
    workload::{ImageEncoding, ImagePlace, ImageSize, Images, LengthDistribution, PromptText, RequestSource},
};

/// Maximum pixels per side of an image.
const MAX_SIDE: u64 = 8_192;
/// Maximum images per request.
const MAX_IMAGES: u64 = 1_000;
/// Names of image sizes, with width and height in pixels.
const RESOLUTIONS: [(&str, (u32, u32)); 9] = [
    ("240p", (426, 240)),
    ("360p", (640, 360)),
    ("480p", (854, 480)),
    ("540p", (960, 540)),
    ("720p", (1280, 720)),
    ("1080p", (1920, 1080)),
    ("1440p", (2560, 1440)),
    ("2160p", (3840, 2160)),
    ("4k", (3840, 2160)),
];

/// A data source with images.
pub(super) struct ImageSource {
    pub images: Images,
    pub output: Option<LengthDistribution>,
    max_tokens: Option<u32>,
}

/// Reads the source. Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section, around: &Around) -> Option<ImageSource> {
    let per_request = section.or_default("images_per_request", 1, |it, key| it.count_u32(key, 1..=MAX_IMAGES));
    let encodings = [("jpeg", ImageEncoding::Jpeg), ("png", ImageEncoding::Png)];
    let encoding = section.or_default("format", ImageEncoding::Jpeg, |it, key| it.choice(key, &encodings));
    let contents = ["gradient", "noise", "solid", "checkerboard"].map(|it| (it, it));
    let content = section.or_default("content", "gradient", |it, key| it.choice(key, &contents));
    if let Some(content) = content.filter(|it| *it != "noise") {
        section.notice("content", format!("is {content}; here images have random pixels, so their files are larger, but their number of tokens is the same"));
    }
    section.count("jpeg_quality", 1..=100);
    section.ignored("seed", ValueType::Number);
    section.section("load_kwargs");
    let output = tokens::lengths(&section, OUTPUT);
    let size = size(&section);
    section.finish();
    let (width, height) = size?;
    let images = Images {
        per_request: LengthDistribution::fixed(per_request?),
        sizes: vec![ImageSize { width, height, weight: 1.0 }],
        encoding: encoding?,
        place: ImagePlace::AfterText,
        shared_by_group: false,
    };
    Some(ImageSource { images, output, max_tokens: around.max_tokens })
}

/// Returns the width and the height in pixels, rounded down to even numbers.
fn size(section: &Section) -> Option<(u32, u32)> {
    let mut width = section.count_u32("width", 1..=MAX_SIDE);
    let mut height = section.count_u32("height", 1..=MAX_SIDE);
    let ratio = match section.text("aspect_ratio") {
        Some(text) => Some(aspect(section, text)?),
        None => None,
    };
    if let Some(name) = section.text("resolution") {
        let lower = name.to_ascii_lowercase();
        let names: Vec<(&str, (u32, u32))> = RESOLUTIONS.to_vec();
        let Some((_, preset)) = names.iter().find(|it| it.0 == lower) else {
            section.choice::<(u32, u32)>("resolution", &names);
            return None;
        };
        height = height.or(Some(preset.1));
        width = width.or_else(|| match ratio {
            Some(ratio) => scaled(height?, ratio),
            None => Some(preset.0),
        });
    } else if let Some(ratio) = ratio {
        width = width.or_else(|| scaled(height?, ratio));
        height = height.or_else(|| scaled(width?, 1.0 / ratio));
    }
    let even = |it: u32| it - it % 2;
    let sides = width.map(even).zip(height.map(even));
    let fits = |it: u32| it > 0 && u64::from(it) <= MAX_SIDE;
    if !sides.is_some_and(|(width, height)| fits(width) && fits(height)) {
        let written = ["width", "height"].iter().any(|it| section.value(it).is_some());
        let key = if written { "width" } else { "resolution" };
        section.problem(
            key,
            format!(
                "gives no size of 2 to {MAX_SIDE} pixels each way; write width and height, or a resolution such as 720p"
            ),
        );
        return None;
    }
    sides
}

fn scaled(side: u32, ratio: f64) -> Option<u32> {
    let side = (f64::from(side) * ratio).round();
    // The cast is exact, because the range is checked.
    (side >= 1.0 && side <= MAX_SIDE as f64).then_some(side as u32)
}

/// Parses an aspect ratio: `16:9` or `16/9`.
fn aspect(section: &Section, text: &str) -> Option<f64> {
    let (width, height) = text.split_once([':', '/']).unwrap_or_default();
    let side = |it: &str| it.trim().parse::<f64>().ok().filter(|it| it.is_finite() && *it > 0.0);
    let ratio = side(width).zip(side(height)).map(|(width, height)| width / height);
    if ratio.is_none() {
        section.problem("aspect_ratio", format!("is {}; write two numbers such as \"16:9\"", quoted(text)));
    }
    ratio
}

impl ImageSource {
    /// Returns the data of a profile that has images but no texts.
    pub fn alone(&self) -> Data {
        let output = self.output.clone().or(self.max_tokens.map(LengthDistribution::fixed));
        Data {
            // A message here must contain a text, so it gets a text of one token. GuideLLM sends no text.
            requests: RequestSource::random(
                LengthDistribution::fixed(1),
                output.unwrap_or_else(|| LengthDistribution::fixed(1)),
                PromptText::Words,
            ),
            images: None,
            has_output: self.output.is_some(),
            turns: 1,
            endless: true,
            rows: None,
            trace: None,
        }
    }

    /// Adds a problem for each setting that cannot be combined with images.
    pub fn check(&self, spec: &Section, data: &Data, around: &Around) {
        if !around.has_messages {
            spec.problem(
                "backend.request_format",
                "is /v1/completions, and a completion cannot hold the images of spec.data; write /v1/chat/completions",
            );
        }
        if !matches!(data.requests, RequestSource::Random { .. }) {
            spec.problem("data", "holds images beside conversations, a file or a trace, which this engine does not support; write a source of kind synthetic_text with one turn");
        }
        if self.output.is_none() && !data.has_output && self.max_tokens.is_none() {
            spec.problem("data", "does not say how long answers are; write output_tokens, or backend.max_tokens");
        }
    }
}
