//! Builds the text of a drawing.

use std::fmt::{self, Write as _};

use super::text::escape;

/// A list of SVG elements.
#[derive(Debug, Default)]
pub(crate) struct Canvas {
    out: String,
    /// The width and height of a drawing in a page; `None` for a standalone drawing. In a page, horizontal positions are percentages, so that texts
    /// keep their size at any width.
    page: Option<(f64, f64)>,
}

/// The alignment of a text relative to its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The appearance of a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Font<'a> {
    pub size: f64,
    pub paint: &'a str,
    pub bold: bool,
    /// The colour around the letters that keeps them readable over lines.
    pub halo: Option<&'a str>,
}

impl Canvas {
    /// A canvas for a drawing that fills the width of its container in a page.
    pub fn in_page(width: f64, height: f64) -> Canvas {
        Canvas { out: String::new(), page: Some((width, height)) }
    }

    pub fn is_in_page(&self) -> bool {
        self.page.is_some()
    }

    /// A horizontal position or length as an attribute value.
    pub fn across(&self, x: f64) -> Across {
        match self.page {
            Some((width, _)) => Across::Percent(x / width * 100.0),
            None => Across::Px(x),
        }
    }

    /// Writes markup unchanged. Format numbers with `Px`, and escape texts with `escape`.
    pub fn put(&mut self, markup: fmt::Arguments<'_>) {
        // Writing to a `String` cannot fail.
        let _ = self.out.write_fmt(markup);
    }

    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, font: &Font<'_>, text: &str) {
        if text.is_empty() {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let weight = if font.bold { r#" font-weight="600""# } else { "" };
        let (x, y, size, paint) = (self.across(x), Px(y), Px(font.size), font.paint);
        self.put(format_args!(r#"<text x="{x}" y="{y}" font-size="{size}" fill="{paint}"{anchor}{weight}"#));
        if let Some(halo) = font.halo {
            self.put(format_args!(r#" stroke="{halo}" stroke-width="3" stroke-linejoin="round" paint-order="stroke""#));
        }
        self.put(format_args!(">{}</text>", escape(text)));
    }

    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), paint: &str, rest: &str) {
        let (x1, y1, x2, y2) = (Px(from.0), Px(from.1), Px(to.0), Px(to.1));
        self.path(&format!("M{x1} {y1}L{x2} {y2}"), format_args!(r#"fill="none" stroke="{paint}"{rest}"#));
    }

    /// Writes a path with these attributes. In a page, the path is stretched to the width of the drawing, but the page's style keeps the width of its
    /// strokes.
    pub fn path(&mut self, d: &str, attributes: fmt::Arguments<'_>) {
        match self.page {
            None => self.put(format_args!(r#"<path d="{d}" {attributes}/>"#)),
            Some((width, height)) => self.put(format_args!(
                r#"<svg viewBox="0 0 {} {}" preserveAspectRatio="none"><path d="{d}" {attributes}/></svg>"#,
                Px(width),
                Px(height)
            )),
        }
    }

    pub fn finish(self) -> String {
        self.out
    }
}

/// A horizontal position or length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Across {
    Px(f64),
    Percent(f64),
}

impl fmt::Display for Across {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Across::Px(it) => Px(*it).fmt(to),
            Across::Percent(it) => write!(to, "{}%", Px(*it)),
        }
    }
}

/// A number of pixels, rounded to a tenth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Px(pub f64);

impl fmt::Display for Px {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round();
        // Whole numbers are written without a fraction, and zero without a minus sign.
        if tenths % 10.0 == 0.0 { write!(to, "{}", tenths / 10.0 + 0.0) } else { write!(to, "{:.1}", tenths / 10.0) }
    }
}

/// Builds the path of a line or an area step by step.
#[derive(Debug, Default)]
pub(crate) struct Path {
    pub d: String,
}

impl Path {
    pub fn go(&mut self, x: f64, y: f64) {
        let _ = write!(self.d, "M{} {}", Px(x), Px(y));
    }

    pub fn line(&mut self, x: f64, y: f64) {
        let _ = write!(self.d, "L{} {}", Px(x), Px(y));
    }

    pub fn horizontal(&mut self, x: f64) {
        let _ = write!(self.d, "H{}", Px(x));
    }

    pub fn vertical(&mut self, y: f64) {
        let _ = write!(self.d, "V{}", Px(y));
    }

    pub fn close(&mut self) {
        self.d.push('Z');
    }

    /// Adds a rectangle with two opposite corners.
    pub fn rectangle(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.go(from.0, from.1);
        self.horizontal(to.0);
        self.vertical(to.1);
        self.horizontal(from.0);
        self.close();
    }

    pub fn is_empty(&self) -> bool {
        self.d.is_empty()
    }
}
