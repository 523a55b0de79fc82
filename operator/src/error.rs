//! Why a turn failed.

use std::time::Duration;

/// Why a turn failed. The run itself is not the cause.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused a request or did not answer.
    #[error("the API server: {0}")]
    Api(#[from] kube::Error),
    /// The task that renders a profile panicked or was cancelled.
    #[error("the rendering of the profile broke off: {0}")]
    Render(tokio::task::JoinError),
    /// The turn took too long.
    #[error("the turn took longer than {0:?}")]
    Timeout(Duration),
    /// The API server refused to create an object.
    #[error("the API server refuses {kind} {name:?} with {code}: {message}")]
    Refused {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
        /// HTTP status of the answer.
        code: u16,
        /// Message of the answer.
        message: String,
    },
    /// An object of this name exists and has another owner.
    #[error("{kind} {name} has another owner")]
    Conflict {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
    },
}

impl Error {
    /// The label of the error metric.
    pub fn category(&self) -> &'static str {
        match self {
            Error::Api(_) => "api",
            Error::Render(_) => "render",
            Error::Timeout(_) => "timeout",
            Error::Conflict { .. } => "conflict",
            Error::Refused { .. } => "refused",
        }
    }
}
