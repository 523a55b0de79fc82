//! Synthetic images in addition to synthetic prompts.

use crds::benchmark_run::Api;

use super::{
    Original,
    data::{Data, no_file},
    random::source,
};
use crate::{
    formats::common::flags::word,
    problem::quoted,
    reader::Section,
    workload::{ImageEncoding, ImagePlace, ImageSize, Images, LengthDistribution},
    yaml::decimal,
};

/// The default sizes, as in the tool.
const DEFAULT_SIZES: [ImageSize; 2] =
    [ImageSize { width: 256, height: 256, weight: 0.5 }, ImageSize { width: 1_280, height: 720, weight: 0.5 }];
/// Maximum images per request.
const MAX_IMAGES: u64 = 255;
/// Maximum pixels per side of an image.
const MAX_PIXELS: u32 = 8_192;
/// Maximum number of sizes.
const MAX_SIZES: usize = 64;

/// Reads random prompts with random images.
pub(super) fn random_images(root: &Section, original: Original, api: Api, count: u64) -> Option<Data> {
    no_file(root, "random-mm");
    if api != Api::Chat {
        root.problem("backend", "is no backend for dataset-name random-mm, which needs chats; choose openai-chat");
    }
    let requests = source(root, original);
    let items = root.or_default("random-mm-base-items-per-request", 1, |it, key| it.count_u32(key, 0..=MAX_IMAGES));
    let ratio = root.or_default("random-mm-num-mm-items-range-ratio", 0.0, |it, key| it.number(key, 0.0..=1.0));
    let most = most(root);
    let sizes = sizes(root);
    let (items, ratio, most) = (f64::from(items?), ratio?, most?);
    let (min, max) = ((items * (1.0 - ratio)).floor() as u32, ((items * (1.0 + ratio)).ceil() as u32).min(most));
    if min > max {
        let remedy = "raise image in it, or lower random-mm-base-items-per-request";
        root.problem(
            "random-mm-limit-mm-per-prompt",
            format!("allows {most} images, and a request has at least {min}; {remedy}"),
        );
        return None;
    }
    let per_request = if min == max { LengthDistribution::fixed(min) } else { LengthDistribution::uniform(min, max) };
    // The tool adds JPEG files after the text.
    let images = Images {
        per_request,
        sizes: sizes?,
        encoding: ImageEncoding::Jpeg,
        place: ImagePlace::AfterText,
        shared_by_group: false,
    };
    let images = Some(images).filter(|it| it.per_request.max > 0);
    Some(Data { images, ignore_eos: true, ..Data::new(requests?, count) })
}

/// Reads the maximum number of images per request.
fn most(root: &Section) -> Option<u32> {
    let Some(limits) = root.section("random-mm-limit-mm-per-prompt") else { return Some(MAX_IMAGES as u32) };
    let most = limits.or_default("image", MAX_IMAGES as u32, |it, key| it.count_u32(key, 0..=MAX_IMAGES));
    // Only images have sizes, so no videos are sent and their limit has no effect.
    limits.count("video", 0..=MAX_IMAGES);
    limits.finish();
    most
}

/// Reads the sizes from a Python dictionary, `{(height, width, frames): weight}`.
fn sizes(root: &Section) -> Option<Vec<ImageSize>> {
    const KEY: &str = "random-mm-bucket-config";
    let Some(text) = word(root, KEY) else { return Some(DEFAULT_SIZES.to_vec()) };
    let Some(entries) = buckets(&text) else {
        let wanted =
            "write (height, width, 1): weight for each size, such as {(256, 256, 1): 0.5, (720, 1280, 1): 0.5}";
        root.problem(KEY, format!("is {}; {wanted}", quoted(&text)));
        return None;
    };
    let mut sizes = Vec::new();
    for ([height, width, frames], weight) in entries.into_iter().filter(|(_, weight)| *weight > 0.0) {
        if frames > 1 {
            root.problem(
                KEY,
                format!("holds a video of {frames} frames; only images are sent, so write 1 as the third number"),
            );
        } else if !(1..=MAX_PIXELS).contains(&height) || !(1..=MAX_PIXELS).contains(&width) {
            root.problem(KEY, format!("holds an image of {width} x {height} pixels; write 1 to {MAX_PIXELS} each way"));
        } else {
            sizes.push(ImageSize { width, height, weight });
        }
    }
    if sizes.is_empty() || sizes.len() > MAX_SIZES {
        root.problem(KEY, format!("holds {} sizes with a weight above 0; write 1 to {MAX_SIZES}", sizes.len()));
        return None;
    }
    Some(sizes)
}

/// Parses the keys and weights of the dictionary. `None` if it is written in another form.
fn buckets(text: &str) -> Option<Vec<([u32; 3], f64)>> {
    let compact: String = text.chars().filter(|it| !it.is_whitespace() && !['"', '\''].contains(it)).collect();
    let inside = compact.strip_prefix('{')?.strip_suffix('}')?;
    let inside = inside.strip_suffix(',').unwrap_or(inside);
    let entry = |text: &str| {
        let (key, weight) = text.split_once("):")?;
        let numbers: Vec<u32> = key.split(',').map(|it| it.parse().ok()).collect::<Option<_>>()?;
        let weight = decimal(weight.strip_suffix(',').unwrap_or(weight)).filter(|it| *it >= 0.0)?;
        Some((numbers.try_into().ok()?, weight))
    };
    let mut parts = inside.split('(');
    // No text may precede the first key.
    parts.next().filter(|it| it.is_empty())?;
    parts.map(entry).collect()
}
