//! Why a file cannot be read.

/// Why bytes are no data that is read here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", .at.map(|it| format!("byte {it}, counted from 0: ")).unwrap_or_default())]
pub struct Problem {
    /// The place in the file, where it is known.
    pub at: Option<usize>,
    /// The problem. It may contain words of the file.
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

/// A word from the file in a message: at most 60 characters, with control characters replaced.
pub(crate) fn shown(word: &str) -> String {
    let plain = |it: char| if it.is_control() { '.' } else { it };
    let mut text: String = word.chars().take(60).map(plain).collect();
    if word.chars().nth(60).is_some() {
        text.push_str("...");
    }
    text
}
