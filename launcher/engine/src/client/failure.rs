//! The reason why a request failed. Pure.

use super::api_error::first_line;
use measurement::record::{Cause, Limit, RequestOutcome};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub outcome: RequestOutcome,
    /// Short description, without prompt or output.
    pub message: String,
    /// The timeout that ended the request, if any.
    pub limit: Option<Limit>,
    /// The reason why there was no connection, or no response on a connection.
    pub cause: Option<Cause>,
}

impl Failure {
    pub fn new(outcome: RequestOutcome, message: impl Into<String>) -> Self {
        Failure { outcome, message: message.into(), limit: None, cause: None }
    }

    /// Creates a failure that happened before the first byte of a response.
    pub fn connection(cause: Cause, message: &str) -> Self {
        Failure { cause: Some(cause), ..Failure::new(cause.outcome(), first_line(message)) }
    }

    pub fn timeout(limit: Limit, message: impl Into<String>) -> Self {
        Failure { limit: Some(limit), ..Failure::new(RequestOutcome::Timeout, message) }
    }
}
