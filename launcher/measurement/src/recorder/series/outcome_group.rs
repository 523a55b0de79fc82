//! Divides the outcomes of requests into a fixed number of groups. Pure.

use crate::record::RequestOutcome;

/// A group of outcomes. A server can send any status, but a bin of a series has one counter for each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeGroup {
    Ok,
    Empty,
    /// Status 400 to 499.
    Http4xx,
    /// Status 500 to 599.
    Http5xx,
    /// Any other status.
    HttpOther,
    BrokenStream,
    Timeout,
    ConnectError,
    ClientError,
    Cancelled,
    Abandoned,
    /// Includes skipped requests.
    Incomplete,
}

impl OutcomeGroup {
    pub const ALL: [OutcomeGroup; 12] = [
        OutcomeGroup::Ok,
        OutcomeGroup::Empty,
        OutcomeGroup::Http4xx,
        OutcomeGroup::Http5xx,
        OutcomeGroup::HttpOther,
        OutcomeGroup::BrokenStream,
        OutcomeGroup::Timeout,
        OutcomeGroup::ConnectError,
        OutcomeGroup::ClientError,
        OutcomeGroup::Cancelled,
        OutcomeGroup::Abandoned,
        OutcomeGroup::Incomplete,
    ];

    pub fn from_outcome(outcome: RequestOutcome) -> OutcomeGroup {
        match outcome {
            RequestOutcome::Ok => OutcomeGroup::Ok,
            RequestOutcome::Empty => OutcomeGroup::Empty,
            RequestOutcome::HttpError(400..=499) => OutcomeGroup::Http4xx,
            RequestOutcome::HttpError(500..=599) => OutcomeGroup::Http5xx,
            RequestOutcome::HttpError(_) => OutcomeGroup::HttpOther,
            RequestOutcome::BrokenStream => OutcomeGroup::BrokenStream,
            RequestOutcome::Timeout => OutcomeGroup::Timeout,
            RequestOutcome::ConnectError => OutcomeGroup::ConnectError,
            RequestOutcome::ClientError => OutcomeGroup::ClientError,
            RequestOutcome::Cancelled => OutcomeGroup::Cancelled,
            RequestOutcome::Abandoned => OutcomeGroup::Abandoned,
            RequestOutcome::Incomplete | RequestOutcome::Skipped => OutcomeGroup::Incomplete,
        }
    }

    /// Returns the name in `report.json`: the name of the outcome, or of the group.
    pub fn name(self) -> &'static str {
        match self {
            OutcomeGroup::Ok => "ok",
            OutcomeGroup::Empty => "empty",
            OutcomeGroup::Http4xx => "http_4xx",
            OutcomeGroup::Http5xx => "http_5xx",
            OutcomeGroup::HttpOther => "http_other",
            OutcomeGroup::BrokenStream => "broken_stream",
            OutcomeGroup::Timeout => "timeout",
            OutcomeGroup::ConnectError => "connect_error",
            OutcomeGroup::ClientError => "client_error",
            OutcomeGroup::Cancelled => "cancelled",
            OutcomeGroup::Abandoned => "abandoned",
            OutcomeGroup::Incomplete => "incomplete",
        }
    }
}
