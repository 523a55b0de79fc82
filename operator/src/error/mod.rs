//! The errors of a reconciliation.

use std::time::Duration;

use crate::plan::Refused;

/// The reason why a reconciliation failed. The spec of the run is not the cause.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused a request, or did not respond.
    #[error("the API server: {0}")]
    Api(#[from] kube::Error),
    /// The task that renders a profile or resolves a sweep panicked or was cancelled.
    #[error("an internal error ended the rendering of the profile, or the resolution of the sweep: {0}")]
    Render(tokio::task::JoinError),
    /// The turn exceeded its time limit.
    #[error("the turn took longer than {0:?}")]
    Timeout(Duration),
    /// The API server refused to create an object.
    #[error("the API server refuses {kind} {name:?} with {code}: {message}")]
    Refused {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
        /// HTTP status code of the response.
        code: u16,
        /// Message of the response.
        message: String,
    },
    /// The run has changed since it was read, so its status was not written.
    #[error("the run has changed since it was read")]
    Outdated,
    /// The API server did not create an object. A retry may succeed.
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
    /// An object with this name exists, but has another owner.
    #[error("{kind} {name} has another owner")]
    Conflict {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
    },
}

/// The HTTP status code for a missing right. It is compared instead of the reason, because a proxy can send no reason.
pub const FORBIDDEN: u16 = 403;
/// The HTTP status codes for a malformed or invalid object.
const INVALID: [u16; 2] = [400, 422];
/// Texts that occur in the message when an admission webhook or policy denies a request. They are needed because a webhook may choose any HTTP
/// status.
const DENIALS: [&str; 2] = ["denied the request", "denied request"];

impl Error {
    /// The kind of error, as the value of a label in the metric that counts failed reconciliations.
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

    /// The refusal that the status should report if a child could not be created. `None` for all other errors.
    pub fn refusal(&self) -> Option<Refused> {
        let for_good = match self {
            Error::Refused { code, message, .. } => INVALID.contains(code) && !is_denial(message),
            Error::NotCreated { .. } => false,
            _ => return None,
        };
        Some(Refused { message: self.to_string(), for_good })
    }

    /// How long to wait before the next request, if the API server requested a delay.
    pub fn retry_after(&self) -> Option<Duration> {
        let (Error::Api(error) | Error::NotCreated { source: error, .. }) = self else { return None };
        let kube::Error::Api(status) = error else { return None };
        let seconds = status.details.as_ref()?.retry_after_seconds;
        Some(Duration::from_secs(u64::from(seconds))).filter(|it| !it.is_zero())
    }
}

/// Whether an admission webhook or policy denied the request. A retry may succeed after somebody has changed the webhook or policy.
fn is_denial(message: &str) -> bool {
    DENIALS.iter().any(|it| message.contains(it))
}

#[cfg(test)]
mod tests;
