//! The labels of a sample. Pure.

use std::borrow::Cow;

/// Maximum number of labels per series; vLLM's `cache_config_info` has about 40.
const MAX_LABELS: usize = 64;

/// A label. Its value contains no escape sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    pub name: &'a str,
    pub value: Cow<'a, str>,
}

/// The labels of a series in the order of the text. `None` if the text cannot be read, or has more than [`MAX_LABELS`] labels.
pub fn labels(text: &str) -> Option<Vec<Label<'_>>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let name = name.trim().trim_matches('"');
        let quoted = after.trim_start().strip_prefix('"')?;
        let end = closing_quote(quoted)?;
        if name.is_empty() || found.len() == MAX_LABELS {
            return None;
        }
        found.push(Label { name, value: unescaped(&quoted[..end]) });
        let after = quoted[end + 1..].trim_start();
        rest = match after.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if after.is_empty() => after,
            None => return None,
        };
    }
    Some(found)
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}

/// Replaces the escape sequences `\\`, `\"` and `\n` by a backslash, a quote and a line feed. Any other backslash stays.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, letter == '\\') {
            (_, true) => match letters.next() {
                Some('n') => out.push('\n'),
                Some(it @ ('\\' | '"')) => out.push(it),
                other => out.extend(['\\'].into_iter().chain(other)),
            },
            (it, false) => out.push(it),
        }
    }
    Cow::Owned(out)
}
