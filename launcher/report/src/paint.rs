//! Colours and weights of text on a terminal. Without them the text has no escape byte.

/// How a piece of text stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Bold,
    Dim,
    Green,
    Yellow,
    Red,
    Cyan,
}

/// Whether styles are applied: only a terminal that supports them gets them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint(bool);

impl Paint {
    /// For files, pipes and terminals without colours.
    pub const OFF: Paint = Paint(false);

    /// `on`: the reader is a terminal that supports colours.
    pub fn new(on: bool) -> Paint {
        Paint(on)
    }

    /// The text in this style, and the terminal's default style after it.
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
