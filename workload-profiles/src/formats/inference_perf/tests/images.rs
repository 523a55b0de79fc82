//! Images in chats.

use super::*;
use crate::workload::{ImageEncoding, ImagePlace, Images};

fn chat(data: &str) -> String {
    format!("api: {{type: chat, streaming: true}}\ndata: {{{data}}}")
}

fn shared(multimodal: &str) -> String {
    chat(&format!("type: shared_prefix, shared_prefix: {{}}, multimodal: {{{multimodal}}}"))
}

fn images(text: &str) -> Images {
    workload(text).images.unwrap()
}

fn sizes(images: &Images) -> Vec<(u32, u32, f64)> {
    images.sizes.iter().map(|it| (it.width, it.height, it.weight)).collect()
}

#[test]
fn images_have_the_number_size_and_place_that_they_ask_for() {
    let found = images(&shared(
        "image: {count: {type: uniform, min: 0, max: 4}, insertion_point: 1.0, representation: jpeg, \
         resolutions: [{resolution: 720p}, {resolution: {height: 10, width: 20}, weight: 3}]}",
    ));
    assert_eq!((found.per_request.min, found.per_request.max, found.per_request.shape), (0, 4, Shape::Uniform));
    assert_eq!(
        (found.encoding, found.place, found.shared_by_group),
        (ImageEncoding::Jpeg, ImagePlace::AfterText, false)
    );
    assert_eq!(sizes(&found), [(1280, 720, 1.0), (20, 10, 3.0)]);
    let plain = images(&shared("image: {insertion_point: 0}"));
    assert_eq!(
        (sizes(&plain), plain.place, plain.encoding),
        (vec![(512, 512, 1.0)], ImagePlace::BeforeText, ImageEncoding::Png)
    );
    assert_eq!(sizes(&images(&shared("image: {insertion_point: 0, resolutions: 4k}"))), [(3840, 2160, 1.0)]);
    let of_group =
        images(&chat("type: shared_prefix, shared_prefix: {multimodal: {image: {count: 2, insertion_point: 0}}}"));
    assert!(of_group.shared_by_group);
}

#[test]
fn images_whose_keys_stand_one_level_too_high_are_meant_all_the_same() {
    let text = shared("image:, count: {type: fixed, mean: 4}, insertion_point: 0, resolutions: 720p");
    assert_eq!(images(&text).per_request, LengthDistribution::fixed(4));
    check_notice(
        &text,
        "data.multimodal.image: is empty, and its keys are one level too high, so that inference-perf sends no image; here they are read as if they were under it",
    );
}

#[test]
fn images_that_cannot_be_sent_are_refused() {
    check_error(
        &shared("video: {count: 1}, audio: {count: 1}"),
        "data.multimodal.video: is not sent: only images are; take it out\n\
         data.multimodal.audio: is not sent: only images are; take it out",
    );
    check_error(
        &shared("image: {insertion_point: 0.5, resolutions: 8k}"),
        "data.multimodal.image.insertion_point: is 0.5; images can only be before or after the text, so write 0 or 1\n\
         data.multimodal.image.resolutions: is \"8k\"; write 4k, 1080p, 720p or 360p, or {width: 512, height: 512}",
    );
    check_error(
        &shared("image: {insertion_point: 0, count: {}}"),
        "data.multimodal.image.count.max: is 1024 (the default); write at most 256\n\
         data.multimodal.image.count.mean: is 512 (the default); write at most 256",
    );
    check_error(
        &chat("type: mock, multimodal: {image: {count: 1}}"),
        "data.multimodal: belongs to data of type synthetic or shared_prefix; take it out",
    );
    check_notice(
        &chat(
            "type: random, input_distribution: {}, output_distribution: {}, multimodal: {image: {insertion_point: 0}}",
        ),
        "data.multimodal: is sent with the prompts; inference-perf ignores it for data of type random",
    );
}
