//! What ends the load early: signals such as SIGTERM, and the run's deadline. First the load drains, then it is aborted; a second
//! signal aborts at once.

use std::{
    fs,
    future::poll_fn,
    sync::mpsc::{self, RecvTimeoutError},
    task::Poll,
    thread,
    time::Duration,
};

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind, signal};
use tracing::warn;

use super::Failure;
use engine::{
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

/// Signals that always ask the run to end.
const ALWAYS: [Signal; 2] = [Signal::TERM, Signal::INT];
/// Signals that do so unless the process was started with them ignored, as `nohup` does with that of a terminal that closes.
const UNLESS_IGNORED: [Signal; 2] = [Signal::HUP, Signal::QUIT];

/// Listens for signals to end until the process ends, on a thread of its own. From now on a file that grows past `ulimit -f` is
/// an error of writing, and no longer the end of the process.
pub(super) fn listen(stop: &Stop, grace: Duration) -> Result<(), Failure> {
    let stop = stop.clone();
    let cannot = |source| Failure::system(&LoadError::System { what: "receiving signals", source });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    let guard = runtime.enter();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let wanted = ALWAYS.into_iter().chain(UNLESS_IGNORED.into_iter().filter(|it| !is_ignored(&status, *it)));
    let listener = |it: Signal| signal(SignalKind::from_raw(it.as_raw()));
    let mut signals = wanted.map(listener).collect::<Result<Vec<_>, _>>().map_err(cannot)?;
    // The handler stays when its listener goes.
    drop(listener(Signal::XFSZ).map_err(cannot)?);
    drop(guard);
    let body = move || {
        runtime.block_on(async {
            any(&mut signals).await;
            let drain = drain_time(grace);
            warn!(
                ?drain,
                "asked to end: nothing more is issued, what is in request may end; ask again to end that too"
            );
            stop.drain(StopReason::Signal);
            tokio::select! {
                () = any(&mut signals) => warn!("asked again: what is in request is ended"),
                () = tokio::time::sleep(drain) => warn!("the time to drain is over: what is in request is ended"),
            }
            stop.abort(StopReason::Signal);
        });
    };
    thread::Builder::new().name("signals".into()).spawn(body).map_err(cannot)?;
    Ok(())
}

/// Waits for one of several signals.
async fn any(signals: &mut [unix::Signal]) {
    poll_fn(|context| match signals.iter_mut().any(|it| it.poll_recv(context).is_ready()) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

/// Whether `/proc/self/status` says that a signal is ignored.
fn is_ignored(status: &str, signal: Signal) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal.as_raw() - 1) & 1 == 1
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
            warn!(?deadline, "the deadline of the run is over: nothing more is issued, what is in request may end");
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

    #[test]
    fn an_ignored_signal_is_seen() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert_eq!([Signal::HUP, Signal::QUIT, Signal::PIPE].map(|it| is_ignored(status, it)), [true, false, true]);
        assert!(!is_ignored("", Signal::HUP));
    }
}
