//! Converts the texts of a drawing to paths.
//!
//! All texts are left-to-right and in one font family, so the outlines and widths of the font's glyphs are enough. There is no kerning. A text shaper
//! would double the size of the renderer.

use std::{fmt::Write as _, sync::LazyLock};

use resvg::usvg::roxmltree::{Document, Error, Node};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Subsets of Noto Sans, see `assets/fonts/README.md`.
static REGULAR: LazyLock<Face<'_>> =
    LazyLock::new(|| face(include_bytes!("../assets/fonts/NotoSans-Regular-latin.ttf")));
static BOLD: LazyLock<Face<'_>> = LazyLock::new(|| face(include_bytes!("../assets/fonts/NotoSans-Bold-latin.ttf")));
static SIGNS: LazyLock<Face<'_>> =
    LazyLock::new(|| face(include_bytes!("../assets/fonts/NotoSansMath-Regular-signs.ttf")));

fn face(bytes: &'static [u8]) -> Face<'static> {
    Face::parse(bytes, 0).expect("the font is part of this program, and a test reads it")
}

/// Attributes that only a text has. A text's other attributes, such as its fill colour, also apply to a path.
const OF_LETTERS: [&str; 5] = ["x", "y", "font-size", "text-anchor", "font-weight"];

/// Returns the drawing with a `<path>` instead of each `<text>`.
///
/// # Errors
/// The drawing is not valid XML.
pub(super) fn replace_texts(svg: &str) -> Result<String, Error> {
    let document = Document::parse(svg)?;
    let mut out = String::with_capacity(svg.len() * 2);
    let mut copied = 0;
    for text in document.descendants().filter(|it| it.has_tag_name((NAMESPACE, "text"))) {
        out.push_str(&svg[copied..text.range().start]);
        copied = text.range().end;
        out.push_str("<path");
        for attribute in text.attributes().filter(|it| !OF_LETTERS.contains(&it.name())) {
            let written = &svg[attribute.range()];
            let _ = write!(out, " {written}");
        }
        let _ = write!(out, r#" d="{}"/>"#, outline(text));
    }
    out.push_str(&svg[copied..]);
    Ok(out)
}

const NAMESPACE: &str = "http://www.w3.org/2000/svg";

/// The path commands for the letters of a text.
fn outline(text: Node<'_, '_>) -> String {
    let number = |name| text.attribute(name).and_then(|it| it.parse::<f32>().ok()).unwrap_or_default();
    let regular = if text.attribute("font-weight").is_some() { &*BOLD } else { &*REGULAR };
    let size = number("font-size");
    let letters: Vec<Letter<'_>> = text.text().unwrap_or_default().chars().map(|it| letter(it, regular)).collect();
    let width: f32 = letters.iter().map(|it| it.advance() * size).sum();
    let mut pen = Pen { d: String::new(), x: number("x"), y: number("y"), scale: 0.0 };
    match text.attribute("text-anchor") {
        Some("middle") => pen.x -= width / 2.0,
        Some("end") => pen.x -= width,
        _ => {}
    }
    for letter in letters {
        pen.scale = size / letter.units();
        letter.face.outline_glyph(letter.glyph, &mut pen);
        pen.x += letter.advance() * size;
    }
    pen.d
}

/// A glyph and its font.
struct Letter<'a> {
    face: &'a Face<'static>,
    glyph: GlyphId,
}

/// The glyph of a character. If no font has the character, the result is the glyph for missing characters, an empty box.
fn letter<'a>(character: char, regular: &'a Face<'static>) -> Letter<'a> {
    let of = |face: &'a Face<'static>| face.glyph_index(character).map(|glyph| Letter { face, glyph });
    of(regular).or_else(|| of(&SIGNS)).unwrap_or(Letter { face: regular, glyph: GlyphId(0) })
}

impl Letter<'_> {
    /// Font units per em; an em is the text size.
    fn units(&self) -> f32 {
        f32::from(self.face.units_per_em())
    }

    /// The width of the letter in a text of size 1.
    fn advance(&self) -> f32 {
        f32::from(self.face.glyph_hor_advance(self.glyph).unwrap_or_default()) / self.units()
    }
}

/// Writes outlines as SVG path commands. The y axis points up in a font and down in a drawing.
struct Pen {
    d: String,
    x: f32,
    y: f32,
    scale: f32,
}

impl Pen {
    fn put(&mut self, command: char, points: &[(f32, f32)]) {
        self.d.push(command);
        for (x, y) in points {
            let (x, y) = (self.x + x * self.scale, self.y - y * self.scale);
            let _ = write!(self.d, "{x:.3} {y:.3} ");
        }
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.put('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.put('L', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.put('Q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.put('C', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.d.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_of_a_label_has_a_glyph() {
        for character in "Az09 µΔ€…≤≥≈×−→∞".chars() {
            for regular in [&*REGULAR, &*BOLD] {
                assert_ne!(letter(character, regular).glyph, GlyphId(0), "{character}");
            }
        }
        assert_eq!(letter('漢', &REGULAR).glyph, GlyphId(0));
    }

    #[test]
    fn a_text_becomes_a_path_with_its_paint_at_its_place() {
        let at = |anchor: &str| {
            let svg = format!(
                r##"<svg xmlns="{NAMESPACE}"><text x="100" y="50" font-size="10" fill="#123"{anchor}>I&amp;I</text><g/></svg>"##
            );
            let replaced = replace_texts(&svg).expect("a drawing");
            let (before, path) = replaced.split_once("<path ").expect("a path");
            assert_eq!(before, format!(r#"<svg xmlns="{NAMESPACE}">"#));
            assert!(path.starts_with(r##"fill="#123" d="M"##) && path.ends_with(r#"Z"/><g/></svg>"#), "{path}");
            let x = path.split_once("d=\"M").and_then(|it| it.1.split_once(' ')).expect("a first point").0;
            x.parse::<f32>().expect("a number")
        };
        let (start, middle, end) = (at(""), at(r#" text-anchor="middle""#), at(r#" text-anchor="end""#));
        // In Noto Sans, I is 0.339 wide and & is 0.732 wide.
        let width = (2.0 * 0.339 + 0.732) * 10.0;
        assert!((start - middle - width / 2.0).abs() < 0.1, "{start} {middle}");
        assert!((start - end - width).abs() < 0.1, "{start} {end}");
        assert!((100.0..104.0).contains(&start), "{start}");
    }
}
