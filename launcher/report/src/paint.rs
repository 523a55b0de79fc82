//! Colours and styles of text on a terminal. If they are off, the text contains no escape sequences.

/// A style of text on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
    Cyan,
}

/// Whether styles are applied. They are applied only on a terminal that supports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint(bool);

impl Paint {
    /// No styles, for files, pipes and terminals without colours.
    pub const OFF: Paint = Paint(false);

    /// `on` means that the output is a terminal that supports colours.
    pub fn new(on: bool) -> Paint {
        Paint(on)
    }

    /// Returns the text in this style, followed by a return to the terminal's default style.
    pub fn apply(self, style: Style, text: &str) -> String {
        if !self.0 || text.is_empty() {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => 1,
            Style::Dim => 2,
            Style::Red => 31,
            Style::Green => 32,
            Style::Yellow => 33,
            Style::Cyan => 36,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_terminal_with_colours_gets_escape_bytes() {
        assert_eq!(Paint::OFF.apply(Style::Red, "missed"), "missed");
        assert_eq!(Paint::new(true).apply(Style::Red, "missed"), "\u{1b}[31mmissed\u{1b}[0m");
        assert_eq!(Paint::new(true).apply(Style::Red, ""), "");
    }
}
