//! Counts requests that ended without success, for the progress of a load. Successful requests cost nothing here.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use measurement::record::RequestOutcome;

/// Requests that ended without success. Each one is counted in exactly one field.
#[derive(Debug, Default)]
pub struct OutcomeCounts {
    /// Failed requests, including those with an empty answer.
    pub failed: AtomicU64,
    /// Requests in flight when the run was stopped.
    pub cancelled: AtomicU64,
    /// Requests that their client abandoned, or that were in flight when their stage or window ended.
    pub unfinished: AtomicU64,
}

impl OutcomeCounts {
    /// Counts a request that has ended.
    pub(super) fn count(&self, outcome: RequestOutcome) {
        let counter = match outcome {
            RequestOutcome::Ok => return,
            RequestOutcome::Cancelled => &self.cancelled,
            RequestOutcome::Abandoned | RequestOutcome::Incomplete | RequestOutcome::Skipped => &self.unfinished,
            RequestOutcome::Empty
            | RequestOutcome::HttpError(_)
            | RequestOutcome::BrokenStream
            | RequestOutcome::Timeout
            | RequestOutcome::ConnectError
            | RequestOutcome::ClientError => &self.failed,
        };
        counter.fetch_add(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_but_a_success_is_in_one_count() {
        let counts = OutcomeCounts::default();
        for outcome in [
            RequestOutcome::Ok,
            RequestOutcome::Empty,
            RequestOutcome::HttpError(503),
            RequestOutcome::ClientError,
            RequestOutcome::Cancelled,
            RequestOutcome::Abandoned,
            RequestOutcome::Incomplete,
        ] {
            counts.count(outcome);
        }
        let read = [&counts.failed, &counts.cancelled, &counts.unfinished].map(|it| it.load(Relaxed));
        assert_eq!(read, [3, 1, 2]);
    }
}
