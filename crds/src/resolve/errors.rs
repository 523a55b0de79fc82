//! Fields of a spec that cannot be used.

/// One field that cannot be used as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct FieldError {
    /// The path of the field, such as `spec.target.url`.
    pub path: String,
    /// What was found and what to do.
    pub message: String,
}

/// All of them.
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
