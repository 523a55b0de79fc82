//! Escapes text from outside for Markdown.

use crds::wording::one_line;

/// Cuts a text to at most `most` bytes, including the appended `note`. Cuts only at the end of a line.
pub fn cut_at_line(text: String, most: usize, note: &str) -> String {
    if text.len() <= most {
        return text;
    }
    let end = text.floor_char_boundary(most.saturating_sub(note.len()));
    let end = text[..end].rfind('\n').map_or(0, |it| it + 1);
    format!("{}{note}", &text[..end])
}

/// Text from outside as a table cell: on one line, with the markup of Markdown and HTML escaped.
pub fn cell(text: &str) -> String {
    let mut shown = String::new();
    for letter in one_line(text).chars() {
        match letter {
            // Links and images need brackets.
            '\\' | '|' | '[' | ']' => shown.extend(['\\', letter]),
            '<' => shown.push_str("&lt;"),
            '`' => shown.push('\''),
            it => shown.push(it),
        }
    }
    shown
}
