//! Images of a request: the section `multimodal`.

use serde_json::Value;

use crate::{
    formats::inference_perf::lengths::number,
    problem::quoted,
    reader::{Section, described},
    workload::{ImageEncoding, ImagePlace, ImageSize, Images, LengthDistribution},
};

/// Maximum images per request.
const MAX_IMAGES: u64 = 256;
/// Maximum pixels per side of an image.
const MAX_PIXELS: u64 = 8192;
/// Maximum number of sizes.
const MAX_SIZES: usize = 64;
/// Maximum weight.
const MAX_WEIGHT: f64 = 1e9;

const IMAGE_KEYS: [&str; 4] = ["count", "insertion_point", "resolutions", "representation"];

/// Reads the section. `None` if it requests no images, or if a problem was reported.
pub(super) fn read(section: Section, shared_by_group: bool) -> Option<Images> {
    for key in ["video", "audio"] {
        if section.value(key).is_some() {
            section.problem(key, "is not sent: only images are; take it out");
        }
    }
    if section.value("image").is_some() {
        let image = section.section("image");
        section.finish();
        return image.and_then(|it| images(it, shared_by_group));
    }
    if IMAGE_KEYS.iter().any(|it| section.value(it).is_some()) {
        let message = "is empty, and its keys are one level too high, so that inference-perf sends no image; here they are read as if they were under it";
        section.notice("image", message);
        return images(section, shared_by_group);
    }
    section.finish();
    None
}

fn images(section: Section, shared_by_group: bool) -> Option<Images> {
    let per_request =
        section.or_default("count", LengthDistribution::fixed(1), |it, key| number(it, key, 0..=MAX_IMAGES));
    let encodings = [("png", ImageEncoding::Png), ("jpeg", ImageEncoding::Jpeg)];
    let encoding = section.or_default("representation", ImageEncoding::Png, |it, key| it.choice(key, &encodings));
    let place = place(&section);
    let sizes = section.or_default("resolutions", vec![size(512, 512)], sizes);
    section.finish();
    Some(Images { per_request: per_request?, sizes: sizes?, encoding: encoding?, place: place?, shared_by_group })
}

fn place(section: &Section) -> Option<ImagePlace> {
    const KEY: &str = "insertion_point";
    let Some(value) = section.value(KEY) else {
        section.notice(
            KEY,
            "is missing: images are put before or after the text at random; inference-perf also puts them inside the text",
        );
        return Some(ImagePlace::Random);
    };
    match value.as_f64() {
        Some(0.0) => Some(ImagePlace::BeforeText),
        Some(1.0) => Some(ImagePlace::AfterText),
        _ => {
            let found = described(value);
            section.problem(KEY, format!("is {found}; images can only be before or after the text, so write 0 or 1"));
            None
        }
    }
}

/// Reads one size, or a list of sizes with weights.
fn sizes(section: &Section, key: &'static str) -> Option<Vec<ImageSize>> {
    if !matches!(section.value(key), Some(Value::Array(_))) {
        return one(section, key).map(|it| vec![it]);
    }
    let items = section.list(key)?;
    if items.is_empty() || items.len() > MAX_SIZES {
        section.problem(key, format!("holds {} sizes; write 1 to {MAX_SIZES}", items.len()));
        return None;
    }
    let count = items.len();
    let sizes: Vec<ImageSize> =
        items.into_iter().filter_map(|(path, value)| weighted(section.element(value, path)?)).collect();
    (sizes.len() == count).then_some(sizes)
}

fn weighted(section: Section) -> Option<ImageSize> {
    section.require("resolution", "write 4k, 1080p, 720p or 360p, or {width: 512, height: 512}");
    let weight = section.or_default("weight", 1.0, |it, key| it.positive_number(key, MAX_WEIGHT));
    let size = one(&section, "resolution");
    section.finish();
    Some(ImageSize { weight: weight?, ..size? })
}

fn one(section: &Section, key: &'static str) -> Option<ImageSize> {
    match section.value(key)? {
        Value::String(name) => match name.as_str() {
            "4k" => Some(size(3840, 2160)),
            "1080p" => Some(size(1920, 1080)),
            "720p" => Some(size(1280, 720)),
            "360p" => Some(size(640, 360)),
            _ => {
                let advice = "write 4k, 1080p, 720p or 360p, or {width: 512, height: 512}";
                section.problem(key, format!("is {}; {advice}", quoted(name)));
                None
            }
        },
        _ => {
            let pixels = section.section(key)?;
            pixels.require("width", "write the width in pixels");
            pixels.require("height", "write the height in pixels");
            let side = |key| pixels.count_u32(key, 1..=MAX_PIXELS);
            let (width, height) = (side("width"), side("height"));
            pixels.finish();
            Some(size(width?, height?))
        }
    }
}

fn size(width: u32, height: u32) -> ImageSize {
    ImageSize { width, height, weight: 1.0 }
}
