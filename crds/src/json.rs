//! The only function of this project that reads large documents from JSON.
//!
//! The compiler generates about a megabyte of code for each type of deserializer with which a BenchmarkRun is read. So YAML documents are converted
//! to JSON first, and every reader calls [`read`], which needs only one deserializer.

use serde::de::DeserializeOwned;

/// The reason why a document cannot be read, and which of its fields is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct FieldError {
    /// The path of the field, such as `spec.target.url`; `.` for the whole document.
    pub path: String,
    /// What is wrong. It does not name a position in the text.
    pub problem: String,
}

/// Deserializes a document from JSON.
///
/// # Errors
/// The text is not JSON, or a field is missing, unknown or of a wrong type.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, FieldError> {
    let mut json = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let (path, cause) = (error.path().to_string(), error.inner());
        let place = format!(" at line {} column {}", cause.line(), cause.column());
        let problem = cause.to_string();
        FieldError { path, problem: problem.strip_suffix(&place).unwrap_or(&problem).to_owned() }
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        #[expect(dead_code, reason = "only read")]
        inner: Vec<u8>,
    }

    #[test]
    fn an_error_names_the_field_and_no_place_in_the_text() {
        for (text, message) in [
            (r#"{"inner": [1, "x"]}"#, "inner[1]: invalid type: string \"x\", expected u8"),
            (r#"{"inner": [1], "more": 1}"#, "more: unknown field `more`, expected `inner`"),
            ("{}", ".: missing field `inner`"),
        ] {
            assert_eq!(read::<Outer>(text).unwrap_err().to_string(), message);
        }
    }
}
