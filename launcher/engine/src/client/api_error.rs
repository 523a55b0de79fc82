//! Extracts a short text, without prompt or output, from a server's error. Pure.

use serde_json::Value;

use super::lenient_json::{BYTE_ORDER_MARK, repair};

/// Maximum length of a stored error text, in characters.
const MAX_ERROR: usize = 200;

/// A server's error: its type and message, shortened, and its code if that is an HTTP status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// For example `NotFoundError: The model ... does not exist.`; empty if the server sends no text.
    pub text: String,
    /// A status from 400 to 599.
    pub code: Option<u16>,
}

impl ApiError {
    /// Parses the body of an error, or an event with an error. Accepted forms: `{"error": {...}}`, `{"error": "text"}`,
    /// `{"object": "error", ...}` and `{"detail": ...}`. For any other body the text is empty, because the body could hold prompts or
    /// output.
    pub fn parse(body: &[u8]) -> ApiError {
        let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
        let body: Value =
            serde_json::from_slice(body).or_else(|_| serde_json::from_str(&repair(body))).unwrap_or_default();
        let error = match &body {
            Value::Object(map) if map.get("object").and_then(Value::as_str) == Some("error") => &body,
            _ => body.get("error").or_else(|| body.get("detail")).unwrap_or(&Value::Null),
        };
        let word = |key: &str| error.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
        let text = match (error.as_str(), word("type"), word("message")) {
            (Some(text), ..) => text.to_owned(),
            (None, Some(kind), Some(message)) => format!("{kind}: {message}"),
            (None, kind, message) => kind.or(message).unwrap_or_default().to_owned(),
        };
        // Some servers write the HTTP status as a string; others put their own error code here, which is ignored.
        let code = error.get("code").and_then(|it| it.as_u64().or_else(|| it.as_str()?.parse().ok()));
        let code = code.and_then(|it| u16::try_from(it).ok());
        ApiError { text: first_line(&text), code: code.filter(|it| (400..600).contains(it)) }
    }
}

/// The first line, shortened to [`MAX_ERROR`] characters. The rest can repeat the request.
pub fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_ERROR) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_in_every_form() {
        let error = |json: &str, text: &str, code: Option<u16>| {
            assert_eq!(ApiError::parse(json.as_bytes()), ApiError { text: text.into(), code }, "{json}");
        };
        error(
            r#"{"error":{"message":"no such","type":"NotFoundError","code":404}}"#,
            "NotFoundError: no such",
            Some(404),
        );
        error(r#"{"error": "Unauthorized"}"#, "Unauthorized", None);
        error(r#"{"detail":"Not Found"}"#, "Not Found", None);
        error(r#"{"detail":[{"loc":["body"],"input":"the prompt"}]}"#, "", None);
        error(
            r#"{"object":"error","message":"old","type":"BadRequestError","code":400}"#,
            "BadRequestError: old",
            Some(400),
        );
        error(r#"{"error":{"message":"","type":"InternalServerError","code":"x"}}"#, "InternalServerError", None);
        error(
            r#"{"error":{"message":"slow down","type":"rate_limit","code":"429"}}"#,
            "rate_limit: slow down",
            Some(429),
        );
        error(r#"{"error":"overloaded","error_type":"overloaded"}"#, "overloaded", None);
        error("\u{feff}{\"detail\":\"Not Found\"}", "Not Found", None);
        error("<html>", "", None);
    }

    #[test]
    fn an_error_text_is_one_short_line() {
        assert_eq!(first_line("first\nsecond"), "first");
        assert_eq!(first_line(&"é".repeat(300)).chars().count(), 203);
    }
}
