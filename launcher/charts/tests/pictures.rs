//! Tests drawings as PNG.

use charts::{
    Size, Style,
    png::{self, PngError},
    svg,
};

/// Reads width and height of a PNG: the two numbers after the name of its first chunk, `IHDR`.
fn size(picture: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes([picture[at], picture[at + 1], picture[at + 2], picture[at + 3]]);
    (number(16), number(20))
}

#[test]
fn each_shape_becomes_a_picture_of_the_size_asked_for() {
    for figure in crate::samples::all() {
        let drawing = svg::draw(&figure, Size { width: 640.0, height: 400.0 }, Style::Standalone);
        let picture = png::render(&drawing, 1.5).expect("a drawing becomes a picture");
        assert_eq!(&picture[1..4], b"PNG");
        assert_eq!(size(&picture), (960, 600), "{}", figure.id);
        if let Some(folder) = std::env::var_os("CHARTS_PICTURES") {
            let path = std::path::Path::new(&folder).join(format!("{}.png", figure.id));
            std::fs::write(path, &picture).expect("the picture is written");
        }
    }
}

#[test]
fn the_texts_are_in_the_picture() {
    let with = svg::draw(&crate::samples::lines(), Size::default(), Style::Standalone);
    let without =
        with.split("<text").map(|it| it.split_once("</text>").map_or(it, |(_, after)| after)).collect::<String>();
    let (with, without) = (png::render(&with, 1.0), png::render(&without, 1.0));
    let (with, without) = (with.expect("a picture").len(), without.expect("a picture").len());
    assert!(with > without + 5_000, "{with} bytes with texts, {without} without");
}

#[test]
fn a_scale_without_a_picture_is_refused() {
    let drawing = svg::draw(&crate::samples::empty(), Size::default(), Style::Standalone);
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9, 1e-9] {
        let refused = png::render(&drawing, scale);
        assert!(matches!(refused, Err(PngError::Scale { .. })), "{scale}: {refused:?}");
    }
    let refused = png::render(&drawing, 1000.0).expect_err("too large").to_string();
    assert_eq!(refused, "scale: is 1000; a drawing of 520 x 290 pixels needs a scale that gives 1 to 64000000 pixels");
}

#[test]
fn what_is_no_drawing_is_refused() {
    let refused = png::render("no drawing", 1.0).expect_err("no drawing").to_string();
    assert!(refused.starts_with("the drawing is not SVG: "), "{refused}");
}
