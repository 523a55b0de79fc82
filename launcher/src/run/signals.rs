//! [I/O] Ends the load early: at a signal such as SIGTERM, or at the run's deadline. The load first drains and is then aborted. A second signal
//! aborts it immediately.

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

/// The part of the grace period that is kept for writing the report.
const TO_WRITE: Duration = Duration::from_secs(10);

/// How often to check for a stop while files are read.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long the load may drain: the grace period minus the time for writing, but at least half of the grace period.
pub(super) fn drain_time(grace: Duration) -> Duration {
    grace.saturating_sub(TO_WRITE).max(grace / 2)
}

/// How long data for the report can be collected after the load. If the run was stopped, the time is short, because little of the grace period is
/// left.
pub(super) fn time_to_collect(stop: &Stop, grace: Duration) -> Duration {
    match stop.state() {
        StopState::Run => Duration::from_secs(120),
        _ => (grace - drain_time(grace)) / 4,
    }
}

/// Signals that always end a run.
const ALWAYS: [Signal; 2] = [Signal::TERM, Signal::INT];
/// Signals that end a run, unless they were ignored when the process started. For example, `nohup` ignores SIGHUP.
const UNLESS_IGNORED: [Signal; 2] = [Signal::HUP, Signal::QUIT];

/// What a signal ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// A run with requests in flight.
    Run,
    /// The wait of `benchwright server start` until its server is ready. There are no requests.
    #[cfg(target_os = "linux")]
    ServerStart,
}

/// Starts a thread that waits for these signals until the process ends. After this call, exceeding `ulimit -f` no longer kills the process, but
/// causes a write error.
pub(super) fn listen(stop: &Stop, grace: Duration, what: Ended) -> Result<(), Failure> {
    let stop = stop.clone();
    let cannot = |source| Failure::system(&LoadError::System { what: "receiving signals", source });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    let guard = runtime.enter();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let wanted = ALWAYS.into_iter().chain(UNLESS_IGNORED.into_iter().filter(|it| !is_ignored(&status, *it)));
    let listener = |it: Signal| signal(SignalKind::from_raw(it.as_raw()));
    let mut signals = wanted.map(listener).collect::<Result<Vec<_>, _>>().map_err(cannot)?;
    // tokio keeps the handler after the listener is dropped.
    drop(listener(Signal::XFSZ).map_err(cannot)?);
    drop(guard);
    let body = move || {
        runtime.block_on(async {
            any(&mut signals).await;
            #[cfg(target_os = "linux")]
            if what == Ended::ServerStart {
                warn!("a signal came before the server was ready: it is not left running");
                return stop.drain(StopReason::Signal);
            }
            let drain = drain_time(grace);
            warn!(
                ?drain,
                "a signal asked the run to end: nothing more is issued, and requests in flight may finish; a second signal aborts them"
            );
            stop.drain(StopReason::Signal);
            tokio::select! {
                () = any(&mut signals) => warn!("a second signal came: requests in flight are aborted"),
                () = tokio::time::sleep(drain) => warn!("the time for requests in flight to finish is over: they are aborted"),
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

/// Whether a signal is ignored, according to the content of `/proc/self/status`.
fn is_ignored(status: &str, signal: Signal) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal.as_raw() - 1) & 1 == 1
}

/// Runs work that can block forever, such as reading a pipe, on a separate thread. After a stop the thread is not joined. It ends with the process.
pub(super) fn until_stopped<T: Send + 'static>(
    stop: &Stop,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let cannot = |source| Failure::system(&LoadError::System { what: "a thread", source });
    let (sender, done) = mpsc::sync_channel(1);
    // Sending fails if the run was stopped meanwhile and no longer receives. This is no error.
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

/// Waits for a stop, for at most `most`. Returns whether there was one.
pub(super) fn wait_for_stop(stop: &Stop, most: Duration) -> Result<bool, Failure> {
    let cannot = |source| Failure::system(&LoadError::System { what: "waiting", source });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
    Ok(runtime.block_on(async {
        let mut stopped = stop.watch();
        tokio::select! {
            _ = stopped.wait_for(|state| *state != StopState::Run) => true,
            () = tokio::time::sleep(most) => false,
        }
    }))
}

/// The deadline of a run. When it passes, the load drains. If draining takes longer than the grace period, the load is aborted.
pub(super) struct Deadline(mpsc::Sender<()>);

impl Deadline {
    pub(super) fn start(stop: &Stop, deadline: Duration, grace: Duration) -> Deadline {
        let (sender, ended) = mpsc::channel::<()>();
        let stop = stop.clone();
        let body = move || {
            // If the channel is disconnected, the load has ended.
            if ended.recv_timeout(deadline) != Err(mpsc::RecvTimeoutError::Timeout) {
                return;
            }
            warn!(
                ?deadline,
                "the deadline of the run has passed: nothing more is issued, and requests in flight may finish"
            );
            stop.drain(StopReason::Deadline);
            if ended.recv_timeout(drain_time(grace)) == Err(mpsc::RecvTimeoutError::Timeout) {
                stop.abort(StopReason::Deadline);
            }
        };
        if let Err(error) = thread::Builder::new().name("deadline".into()).spawn(body) {
            warn!(%error, "the deadline of the run cannot be watched, so the run will not end at it");
        }
        Deadline(sender)
    }

    /// Stops watching the deadline, because the load has ended.
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
