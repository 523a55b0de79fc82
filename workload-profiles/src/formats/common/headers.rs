//! Header fields that a profile adds to every request.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    problem::quoted,
    reader::{Section, described},
};

/// Header fields that the launcher sets itself.
const LAUNCHER_HEADERS: [&str; 5] = ["host", "content-length", "content-type", "transfer-encoding", "connection"];
/// Maximum header fields.
const MAX_HEADERS: usize = 64;
/// The longest value of a header field, in bytes.
const MAX_HEADER_BYTES: usize = 4096;

/// Reads the header fields of the section `headers`.
pub(in crate::formats) fn headers(section: &Section) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    if section.entries().count() > MAX_HEADERS {
        section.problem_of_all(format!(
            "holds {} fields; at most {MAX_HEADERS} are sent, take some out",
            section.entries().count()
        ));
    }
    for (name, value) in section.entries() {
        let same = |it: &&String| it.eq_ignore_ascii_case(name);
        if let Some(other) = headers.keys().find(same) {
            section.problem(
                name,
                format!("is the same field as {other}, because upper and lower case do not matter; keep one of them"),
            );
            continue;
        }
        match header(name, value) {
            Ok(text) => drop(headers.insert(name.to_owned(), text)),
            Err(message) => section.problem(name, message),
        }
    }
    headers
}

/// Reads the name of a header field whose value the launcher sets.
pub(in crate::formats) fn header_name(section: &Section, key: &'static str) -> Option<String> {
    let name = section.text(key)?;
    match check_name(name) {
        Ok(()) => Some(name.to_owned()),
        Err(message) => {
            section.problem(key, format!("is {}, which {message}", quoted(name)));
            None
        }
    }
}

/// Returns the value of a header field, or an error if it cannot be sent.
fn header(name: &str, value: &Value) -> Result<String, String> {
    check_name(name)?;
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return Err(format!("is {}; write a text", described(value))),
    };
    if text.len() > MAX_HEADER_BYTES || !text.bytes().all(|it| (b' '..=b'~').contains(&it)) {
        return Err(format!("is {}; write at most {MAX_HEADER_BYTES} printable ASCII characters", quoted(&text)));
    }
    Ok(text)
}

/// Returns an error if a header field with this name cannot be sent.
fn check_name(name: &str) -> Result<(), String> {
    let lower = name.to_ascii_lowercase();
    if lower == "authorization" {
        return Err(
            "is a credential, and a profile is not secret; put it into a Secret, and name the Secret in target.auth"
                .into(),
        );
    }
    if LAUNCHER_HEADERS.contains(&lower.as_str()) {
        return Err("is set by the launcher; take it out".into());
    }
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err("is not a name of a header field; use letters, digits and dashes".into());
    }
    Ok(())
}

/// Whether a byte can occur in a token, such as the name of a header field (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
