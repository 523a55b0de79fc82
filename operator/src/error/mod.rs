//! Why a turn failed.

use std::time::Duration;

use crate::plan::Refused;

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
    /// The run has changed since it was read, so nothing was written.
    #[error("the run has changed since it was read")]
    Outdated,
    /// The API server did not create an object. A later try may succeed.
    #[error("cannot create {kind} {name:?}: {source}")]
    NotCreated {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
        /// The error of the API server, or of the connection to it.
        source: kube::Error,
    },
    /// The values for llm-d's charts were not written. The run does not need them.
    #[error("{0}")]
    NoChartValues(Box<Error>),
    /// An object of this name exists and has another owner.
    #[error("{kind} {name} has another owner")]
    Conflict {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
    },
}

/// The HTTP status for a missing right. The check uses the code and not the reason, because a proxy sends no reason.
pub const FORBIDDEN: u16 = 403;
/// HTTP statuses of an object that is malformed or invalid.
const INVALID: [u16; 2] = [400, 422];
/// Phrases in the messages of admission webhooks and policies that deny a request. They choose the HTTP status themselves.
const DENIALS: [&str; 2] = ["denied the request", "denied request"];

impl Error {
    /// The label of the error metric.
    pub fn category(&self) -> &'static str {
        match self {
            Error::Api(_) => "api",
            Error::Render(_) => "render",
            Error::Timeout(_) => "timeout",
            Error::Outdated => "outdated",
            Error::Conflict { .. } => "conflict",
            Error::Refused { .. } | Error::NotCreated { .. } => "refused",
            Error::NoChartValues(error) => error.category(),
        }
    }

    /// The refusal to report in the status if a child could not be created; `None` for another error.
    pub fn refusal(&self) -> Option<Refused> {
        let for_good = match self {
            Error::Refused { code, message, .. } => INVALID.contains(code) && !is_denial(message),
            Error::NotCreated { .. } => false,
            _ => return None,
        };
        Some(Refused { message: self.to_string(), for_good })
    }

    /// How long the API server requests to wait before the next request.
    pub fn retry_after(&self) -> Option<Duration> {
        let (Error::Api(error) | Error::NotCreated { source: error, .. }) = self else { return None };
        let kube::Error::Api(status) = error else { return None };
        let seconds = status.details.as_ref()?.retry_after_seconds;
        Some(Duration::from_secs(u64::from(seconds))).filter(|it| !it.is_zero())
    }
}

/// Whether a webhook or a policy denied the request. Like a quota, its configuration may change.
fn is_denial(message: &str) -> bool {
    DENIALS.iter().any(|it| message.contains(it))
}

#[cfg(test)]
mod tests;
