//! Why a request failed. Pure.

use super::api_error::first_line;
use measurement::record::{Cause, Limit, RequestOutcome};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub outcome: RequestOutcome,
    /// A short text without prompt or output.
    pub message: String,
    /// The timeout that passed, if a timeout ended the request.
    pub limit: Option<Limit>,
    /// Why there was no connection, or no answer on a connection.
    pub cause: Option<Cause>,
}

impl Failure {
    pub fn new(outcome: RequestOutcome, message: impl Into<String>) -> Self {
        Failure { outcome, message: message.into(), limit: None, cause: None }
    }

    /// A failure before the first byte of an answer.
    pub fn connection(cause: Cause, message: &str) -> Self {
        Failure { cause: Some(cause), ..Failure::new(cause.outcome(), first_line(message)) }
    }

    pub fn timeout(limit: Limit, message: impl Into<String>) -> Self {
        Failure { limit: Some(limit), ..Failure::new(RequestOutcome::Timeout, message) }
    }
}
