//! Names in which `*` stands for any text.

use serde::Deserialize;

/// Maximum length of a pattern, in bytes. The longest names are image references, with at most 512 bytes.
const MAX_LENGTH: usize = 512;

/// A name in which each `*` stands for any text, even for none. It must match a name as a whole, and is case-sensitive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Pattern(String);

impl Pattern {
    /// The pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern matches a name.
    pub fn matches(&self, name: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else { return self.0 == name };
        let Some(mut left) = name.strip_prefix(first) else { return false };
        // The last part must match the end of the name. For every other part, its first occurrence is used.
        let Some((middle, last)) = rest.rsplit_once('*') else { return left.ends_with(rest) };
        for part in middle.split('*') {
            let Some(at) = left.find(part) else { return false };
            left = &left[at + part.len()..];
        }
        left.ends_with(last)
    }

    /// The pattern in the form that host names are compared with: in lower case, and without a dot at its end.
    pub(super) fn of_host(&self) -> Pattern {
        Pattern(self.0.trim_end_matches('.').to_ascii_lowercase())
    }

    /// Returns why the pattern is invalid. `None` if it is valid.
    pub(super) fn problem(&self) -> Option<String> {
        let text = &self.0;
        if text.is_empty() {
            return Some("is empty; write a name, with * for any text".into());
        }
        if text.len() > MAX_LENGTH {
            return Some(format!("has {} bytes; write at most {MAX_LENGTH}", text.len()));
        }
        text.contains(|it: char| it.is_whitespace() || it.is_control())
            .then(|| format!("is {text:?}; take the white space out"))
    }

    /// Whether the pattern matches only whole name parts. A `*` at its end must follow a separator, so that it does not complete a partial name.
    pub(super) fn ends_a_name(&self) -> bool {
        self.0.strip_suffix('*').is_none_or(|it| it.is_empty() || it.ends_with(['/', ':', '@', '*']))
    }
}

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Pattern(text.to_owned())
    }
}
