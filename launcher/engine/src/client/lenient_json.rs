//! Parses JSON from servers that put invalid bytes or escapes into strings. Pure.

use serde::de::DeserializeOwned;

/// The UTF-8 byte order mark, which some programs write at the start of a text.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses JSON, and repairs it if necessary. A byte order mark at the start is ignored.
///
/// # Errors
/// The text is not JSON, or does not match the type.
pub(super) fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, serde_json::Error> {
    let json = json.strip_prefix(BYTE_ORDER_MARK).unwrap_or(json);
    // Few answers need a repair, so it is tried only after parsing has failed.
    serde_json::from_slice(json).or_else(|_| serde_json::from_str(&repair(json)))
}

/// Replaces what JSON does not allow in a string with U+FFFD: bytes that are not UTF-8, and unpaired surrogates.
pub(super) fn repair(json: &[u8]) -> String {
    let json = String::from_utf8_lossy(json);
    let mut whole = String::with_capacity(json.len());
    let mut rest: &str = &json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let code = escape.get(2..6).filter(|_| escape.starts_with("\\u"));
        let code = code.and_then(|it| u32::from_str_radix(it, 16).ok());
        let length = match code {
            Some(0xD800..=0xDFFF) => {
                whole.push('\u{FFFD}');
                6
            }
            // Copies the backslash together with the character that it escapes, which may itself be a backslash.
            _ => {
                let length = escape.char_indices().nth(2).map_or(escape.len(), |(at, _)| at);
                whole.push_str(&escape[..length]);
                length
            }
        };
        rest = &escape[length..];
    }
    whole + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mending_changes_nothing_but_what_is_broken() {
        for (broken, whole) in [
            (r#""a\\ud83d""#, r#""a\\ud83d""#),
            (r#""\\\ud83d""#, "\"\\\\\u{FFFD}\""),
            (r#""\n\u0041é""#, r#""\n\u0041é""#),
            (r#""\"#, r#""\"#),
            (r#""\u12"#, r#""\u12"#),
            (r#""\é\uzzzz""#, r#""\é\uzzzz""#),
        ] {
            assert_eq!(repair(broken.as_bytes()), whole);
        }
    }
}
