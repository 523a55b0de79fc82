//! The reason why a file cannot be read.

/// The reason why bytes could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", .at.map(|it| format!("byte {it}, counted from 0: ")).unwrap_or_default())]
pub struct Problem {
    /// The position in the file, if known.
    pub at: Option<usize>,
    /// The problem. It can contain text from the file.
    pub what: String,
}

impl Problem {
    pub(crate) fn new(what: impl Into<String>) -> Problem {
        Problem { at: None, what: what.into() }
    }

    pub(crate) fn at(at: usize, what: impl Into<String>) -> Problem {
        Problem { at: Some(at), what: what.into() }
    }
}

/// Text from the file for a message: at most 60 characters, with control characters replaced.
pub(crate) fn shown(word: &str) -> String {
    let plain = |it: char| if it.is_control() { '.' } else { it };
    let mut text: String = word.chars().take(60).map(plain).collect();
    if word.chars().nth(60).is_some() {
        text.push_str("...");
    }
    text
}
