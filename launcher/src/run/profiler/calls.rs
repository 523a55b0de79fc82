//! [I/O] The calls to a profiler, each with a timeout.

use std::{future::Future, time::Duration};

use crds::{benchmark_run::ProfilerKind, units::Span};
use tracing::info;

use super::Limits;
use engine::{
    client::{Target, control::ControlError, profiler},
    stop::{Stop, StopState},
};

/// How long a call can still take after the load was aborted.
const ABORTED: Duration = Duration::from_secs(1);

/// How to call the server.
pub(super) struct Calls<'a> {
    pub(super) target: &'a Target,
    pub(super) stop: &'a Stop,
    pub(super) limits: Limits,
    pub(super) kind: ProfilerKind,
}

/// The result of starting the profiler.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Started {
    /// Whether the profiler might be recording, so that it must be stopped.
    pub(super) may_record: bool,
    /// The reason why the start was not confirmed. `None` if it was.
    pub(super) why: Option<String>,
}

impl Calls<'_> {
    pub(super) async fn start(&self) -> Started {
        if !self.kind.has_endpoints() {
            return Started { may_record: true, why: None };
        }
        let cuda = self.kind == ProfilerKind::Nsys;
        match self.within(self.limits.start, profiler::start(self.target, cuda)).await {
            Ok(Ok(())) => Started { may_record: true, why: None },
            Ok(Err(error)) => {
                let may_record = !matches!(error, ControlError::NotThere { .. });
                Started { may_record, why: Some(error.to_string()) }
            }
            Err(late) => Started { may_record: true, why: Some(format!("{} got no answer {late}", profiler::START)) },
        }
    }

    /// Stops the profiler. Returns the server's response. The error explains why the stop was not confirmed.
    pub(super) async fn stop(&self) -> Result<String, String> {
        if !self.kind.has_endpoints() {
            return Ok(String::new());
        }
        let limit = Span(self.limits.stop);
        info!(
            "the profiler is stopped; the server has up to {limit} to write its trace, and the next stage waits for that"
        );
        match self.within(self.limits.stop, profiler::stop(self.target)).await {
            Ok(Ok(said)) => {
                info!("the server has stopped its profiler");
                Ok(said)
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(late) => Err(format!("{} got no answer {late}; the server may still write its trace", profiler::STOP)),
        }
    }

    /// Waits for a response, until a timeout. After a stop of the run the timeout is shorter. The error contains how long the wait took.
    async fn within<T>(&self, limit: Duration, call: impl Future<Output = T>) -> Result<T, String> {
        let (mut ending, mut aborting) = (self.stop.watch(), self.stop.watch());
        let at_end = self.limits.stop_at_end;
        let ended = async {
            // This cannot fail, because the sender lives as long as the run.
            let _ = ending.wait_for(|it| *it != StopState::Run).await;
            tokio::select! {
                () = tokio::time::sleep(at_end) => at_end,
                _ = aborting.wait_for(|it| matches!(it, StopState::Abort(_))) => {
                    tokio::time::sleep(ABORTED.min(at_end)).await;
                    ABORTED.min(at_end)
                }
            }
        };
        tokio::select! {
            biased;
            done = call => Ok(done),
            () = tokio::time::sleep(limit) => Err(format!("within {}", Span(limit))),
            waited = ended => Err(format!("{} after the run was asked to end", Span(waited))),
        }
    }
}
