//! The time limit of a command that has the flag `--timeout`.

use std::time::Duration;

use crds::units::Span;
use tokio::time::{Instant, sleep_until};

use crate::failure::{Failure, TIMEOUT};

/// The time limit of a command. It counts from the command's start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    limit: Duration,
    /// The end of the limit. `None` if there is no limit, or if the clock cannot represent its end.
    end: Option<Instant>,
}

impl Deadline {
    /// Starts a time limit now.
    pub(crate) fn after(limit: Option<Duration>) -> Deadline {
        let end = limit.and_then(|it| Instant::now().checked_add(it));
        Deadline { limit: limit.unwrap_or_default(), end }
    }

    /// The length of the time limit.
    pub(crate) fn limit(&self) -> Span {
        Span(self.limit)
    }

    /// Waits until the time limit has passed.
    pub(crate) async fn passed(&self) {
        match self.end {
            Some(end) => sleep_until(end).await,
            None => std::future::pending().await,
        }
    }

    /// Runs a future that creates a run, and fails when the time limit passes before its end.
    pub(crate) async fn bound<T>(
        &self,
        namespace: &str,
        creation: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            done = creation => done,
            () = self.passed() => Err(Failure::ended(TIMEOUT, format!(
                "the API server has not answered within --timeout {}; `kubectl get benchmarkruns -n {namespace}` shows whether the run was created",
                self.limit()
            ))),
        }
    }
}
