//! The invalid fields of a spec.

/// One invalid field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct FieldError {
    /// The path of the field, such as `spec.target.url`.
    pub path: String,
    /// What was found, and what to do.
    pub message: String,
}

/// Collects all invalid fields of a spec.
#[derive(Default)]
pub(super) struct Errors(Vec<FieldError>);

impl Errors {
    pub(super) fn add(&mut self, path: &str, message: &str) {
        self.0.push(FieldError { path: path.to_owned(), message: message.to_owned() });
    }

    pub(super) fn none_or<T>(self, value: T) -> Result<T, Vec<FieldError>> {
        if self.0.is_empty() { Ok(value) } else { Err(self.0) }
    }
}
