//! Renders a drawing as PNG. The fonts are embedded, so that the picture is the same on every machine.

mod outlines;

use std::fmt;

use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{self, Options, Tree},
};

/// Maximum number of pixels in a picture. Such a picture needs 256 MB while it is drawn.
const MOST_PIXELS: f64 = 64e6;

/// The reason why a drawing could not be rendered.
#[derive(Debug)]
pub enum PngError {
    /// The text is not an SVG drawing.
    Svg(usvg::Error),
    /// The scale is not above zero, or the picture would have no pixels or too many of them.
    Scale {
        scale: f64,
        width: f64,
        height: f64,
    },
    Encode(String),
}

impl fmt::Display for PngError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PngError::Svg(error) => write!(to, "the drawing is not SVG: {error}"),
            PngError::Scale { scale, width, height } => write!(
                to,
                "scale: is {scale}; a drawing of {width} x {height} pixels needs a scale that gives 1 to {MOST_PIXELS:.0} pixels"
            ),
            PngError::Encode(error) => write!(to, "the picture cannot be written as PNG: {error}"),
        }
    }
}

impl std::error::Error for PngError {}

/// Renders a drawing of `Style::Standalone` as PNG. The size in pixels is the size of the drawing times `scale`. Use 2 for print and for high-density
/// screens.
pub fn render(svg: &str, scale: f64) -> Result<Vec<u8>, PngError> {
    let svg = outlines::replace_texts(svg).map_err(|error| PngError::Svg(usvg::Error::ParsingFailed(error)))?;
    let tree = Tree::from_str(&svg, &Options::default()).map_err(PngError::Svg)?;
    let (width, height) = (f64::from(tree.size().width()), f64::from(tree.size().height()));
    let wrong = || PngError::Scale { scale, width, height };
    let pixels = (width * scale).round() * (height * scale).round();
    if !(scale > 0.0 && (1.0..=MOST_PIXELS).contains(&pixels)) {
        return Err(wrong());
    }
    let mut picture = Pixmap::new((width * scale).round() as u32, (height * scale).round() as u32).ok_or_else(wrong)?;
    resvg::render(&tree, Transform::from_scale(scale as f32, scale as f32), &mut picture.as_mut());
    picture.encode_png().map_err(|error| PngError::Encode(error.to_string()))
}
