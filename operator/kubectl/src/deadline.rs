//! The end of the time that `--timeout` gives a command.

use std::time::Duration;

use crds::units::Span;
use tokio::time::{Instant, sleep_until};

use crate::failure::{Failure, TIMEOUT};

/// How long a command waits. The time counts from the command's start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    limit: Duration,
    /// `None`: no limit, or a limit that no clock can represent.
    end: Option<Instant>,
}

impl Deadline {
    /// Starts the time now.
    pub(crate) fn after(limit: Option<Duration>) -> Deadline {
        let end = limit.and_then(|it| Instant::now().checked_add(it));
        Deadline { limit: limit.unwrap_or_default(), end }
    }

    /// The time limit from `--timeout`.
    pub(crate) fn limit(&self) -> Span {
        Span(self.limit)
    }

    /// Waits until the time has passed.
    pub(crate) async fn passed(&self) {
        match self.end {
            Some(end) => sleep_until(end).await,
            None => std::future::pending().await,
        }
    }

    /// Waits for the creation of a run in a namespace, within the time limit.
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
