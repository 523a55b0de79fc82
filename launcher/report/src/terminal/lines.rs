//! Formats lines so that they fit a terminal.

use crate::{
    paint::{Paint, Style},
    text_table::wrapped,
};

/// Maximum line width, in characters. Only a table with many wide figures, or a line with one long word, can be wider.
pub(super) const WIDTH: u16 = 100;
/// Indentation of all lines of a sentence except the first.
const INDENT: u16 = 2;

/// A wrapped sentence that begins with a styled word.
pub(super) fn sentence(word: &str, style: Style, rest: &str, paint: Paint) -> String {
    let text = indented(&format!("{word}{rest}"), usize::MAX);
    match text.strip_prefix(word) {
        Some(rest) => paint.apply(style, word) + rest,
        None => text,
    }
}

/// A text wrapped to the line width, with all lines except the first indented. Cut after `most` lines.
pub(super) fn indented(text: &str, most: usize) -> String {
    let mut lines = wrapped(text, WIDTH - INDENT);
    if lines.len() > most {
        // The last line is made shorter, so that an ellipsis fits.
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.push('\u{2026}');
        }
    }
    lines.join(&format!("\n{}", " ".repeat(INDENT.into())))
}
