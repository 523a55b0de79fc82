//! Lines that fit a terminal.

use crate::{
    paint::{Paint, Style},
    text_table::wrapped,
};

/// The width of the widest line. Only a table with many wide figures, or one long word, may need more.
pub(super) const WIDTH: u16 = 100;
/// How far the lines after the first of a sentence are indented.
const INDENT: u16 = 2;

/// A sentence that begins with a word in a style, wrapped.
pub(super) fn sentence(word: &str, style: Style, rest: &str, paint: Paint) -> String {
    let text = indented(&format!("{word}{rest}"), usize::MAX);
    match text.strip_prefix(word) {
        Some(rest) => paint.apply(style, word) + rest,
        None => text,
    }
}

/// A text in lines that fit, all but the first indented. Text after `most` lines is left out.
pub(super) fn indented(text: &str, most: usize) -> String {
    let mut lines = wrapped(text, WIDTH - INDENT);
    if lines.len() > most {
        // The shorter last line has room for the ellipsis.
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.push('\u{2026}');
        }
    }
    lines.join(&format!("\n{}", " ".repeat(INDENT.into())))
}
