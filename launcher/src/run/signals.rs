//! What ends the load early: SIGTERM, SIGINT and the run's deadline. First the load drains, then it is aborted; a second
//! signal aborts at once.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use tokio::signal::unix::{SignalKind, signal};
use tracing::warn;

use super::Failure;
use crate::{
    issue::LoadError,
    stop::{Stop, StopReason, StopState},
};

/// Kept back from the grace period for writing the report.
const TO_WRITE: Duration = Duration::from_secs(10);

/// How soon a stop is seen while files are read.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long the load may drain: the grace period less the time to write, or half of a short one.
fn drain_time(grace: Duration) -> Duration {
    grace.saturating_sub(TO_WRITE).max(grace / 2)
}

/// Listens for SIGTERM and SIGINT until the process ends, on a thread of its own.
pub(super) fn listen(stop: &Stop, grace: Duration) -> Result<(), Failure> {
    let stop = stop.clone();
    let cannot = |source| Failure::system(&LoadError::System { what: "receiving signals", source });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    let guard = runtime.enter();
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    drop(guard);
    let body = move || {
        runtime.block_on(async {
            let either = async |terminate: &mut tokio::signal::unix::Signal,
                                interrupt: &mut tokio::signal::unix::Signal| {
                tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
            };
            either(&mut terminate, &mut interrupt).await;
            let drain = drain_time(grace);
            warn!(?drain, "asked to end: nothing more is issued, what is in flight may end; ask again to end that too");
            stop.drain(StopReason::Signal);
            tokio::select! {
                () = either(&mut terminate, &mut interrupt) => warn!("asked again: what is in flight is ended"),
                () = tokio::time::sleep(drain) => warn!("the time to drain is over: what is in flight is ended"),
            }
            stop.abort(StopReason::Signal);
        });
    };
    thread::Builder::new().name("signals".into()).spawn(body).map_err(cannot)?;
    Ok(())
}

/// Does work that may wait for ever, such as reading a pipe, on a thread of its own. After a stop nobody waits for that thread:
/// it ends with the process.
pub(super) fn until_stopped<T: Send + 'static>(
    stop: &Stop,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let cannot = |source| Failure::system(&LoadError::System { what: "a thread", source });
    let (sender, done) = mpsc::sync_channel(1);
    // The receiver goes when the run is stopped.
    let body = move || drop(sender.send(work()));
    let thread = thread::Builder::new().name("reading".into()).spawn(body).map_err(cannot)?;
    loop {
        match done.recv_timeout(LOOK_EVERY) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) if stop.state() == StopState::Run => {}
            Err(RecvTimeoutError::Timeout) => return Err(Failure::cancelled()),
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return Err(Failure::cancelled()),
            },
        }
    }
}

/// The run's deadline: drains the load when it comes, and aborts it when draining takes longer than the grace period.
pub(super) struct Deadline(mpsc::Sender<()>);

impl Deadline {
    pub(super) fn start(stop: &Stop, deadline: Duration, grace: Duration) -> Deadline {
        let (sender, ended) = mpsc::channel::<()>();
        let stop = stop.clone();
        let body = move || {
            // A disconnect means that the load has ended.
            if ended.recv_timeout(deadline) != Err(mpsc::RecvTimeoutError::Timeout) {
                return;
            }
            warn!(?deadline, "the deadline of the run is over: nothing more is issued, what is in flight may end");
            stop.drain(StopReason::Deadline);
            if ended.recv_timeout(drain_time(grace)) == Err(mpsc::RecvTimeoutError::Timeout) {
                stop.abort(StopReason::Deadline);
            }
        };
        if let Err(error) = thread::Builder::new().name("deadline".into()).spawn(body) {
            warn!(%error, "the deadline of the run is not watched");
        }
        Deadline(sender)
    }

    /// The load has ended.
    pub(super) fn end(self) {
        drop(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_keeps_its_share_of_the_grace_period() {
        assert_eq!(drain_time(Duration::from_secs(60)), Duration::from_secs(50));
        assert_eq!(drain_time(Duration::from_secs(10)), Duration::from_secs(5));
    }
}
