//! Images in chats.

use super::prefixes::MAX_WEIGHT;
use crate::{
    formats::common::prompts::{NormalMean, numbers},
    reader::Section,
    workload::{ImageEncoding, ImagePlace, ImageSize, Images},
};

/// Maximum images of a request.
const MAX_IMAGES: u64 = 256;
/// Maximum pixels per side of an image.
const MAX_PIXELS: u64 = 8_192;
/// Maximum number of sizes.
const MAX_SIZES: usize = 100;

/// Reads the section `images`; Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section) -> Option<Images> {
    section.require("perRequest", "write the number of images of a request, or a distribution of it");
    section.require("sizes", "write at least one, such as [{width: 512, height: 512}]");
    let per_request = numbers(&section, "perRequest", NormalMean::Anywhere, 0..=MAX_IMAGES);
    let sizes = sizes(&section);
    let encodings = [("png", ImageEncoding::Png), ("jpeg", ImageEncoding::Jpeg)];
    let encoding = section.or_default("encoding", ImageEncoding::Jpeg, |it, key| it.choice(key, &encodings));
    let places =
        [("beforeText", ImagePlace::BeforeText), ("afterText", ImagePlace::AfterText), ("random", ImagePlace::Random)];
    let place = section.or_default("place", ImagePlace::default(), |it, key| it.choice(key, &places));
    let shared_by_group = section.bool("sharedByGroup").unwrap_or(false);
    section.finish();
    Some(Images { per_request: per_request?, sizes: sizes?, encoding: encoding?, place: place?, shared_by_group })
}

fn sizes(section: &Section) -> Option<Vec<ImageSize>> {
    let items = section.list("sizes")?;
    let wanted = items.len();
    if wanted == 0 || wanted > MAX_SIZES {
        section.problem("sizes", format!("holds {wanted} sizes; write 1 to {MAX_SIZES}"));
        return None;
    }
    let mut sizes = Vec::with_capacity(wanted);
    for (path, value) in items {
        let Some(item) = section.element(value, path) else { continue };
        item.require("width", "write the width in pixels");
        item.require("height", "write the height in pixels");
        let pixels = |key| item.count_u32(key, 1..=MAX_PIXELS);
        let (width, height) = (pixels("width"), pixels("height"));
        let weight = item.or_default("weight", 1.0, |it, key| it.positive_number(key, MAX_WEIGHT));
        item.finish();
        if let (Some(width), Some(height), Some(weight)) = (width, height, weight) {
            sizes.push(ImageSize { width, height, weight });
        }
    }
    (sizes.len() == wanted).then_some(sizes)
}
