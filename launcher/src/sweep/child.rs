//! [I/O] One run of a sweep, as a process of its own.

use std::{
    io::Write as _,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use anyhow::Context as _;
use crds::ExitCode;
use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tracing::warn;

/// How often a pause checks for a signal.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Whether a signal has requested the end of the sweep, and the process that it is passed on to.
#[derive(Debug, Default)]
pub(super) struct Stopped {
    requested: AtomicBool,
    /// The run in progress; 0 if there is none.
    child: AtomicI32,
}

impl Stopped {
    pub(super) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }

    /// Waits. Returns whether the time has passed without a signal.
    pub(super) fn pause(&self, length: Duration) -> bool {
        let end = clock::monotonic() + length;
        // Nothing is ever sent, so each receive is a wait.
        let (_keeper, never) = mpsc::channel::<()>();
        while !self.is_requested() {
            let left = end.saturating_sub(clock::monotonic());
            if left.is_zero() {
                return true;
            }
            debug_assert_eq!(never.recv_timeout(left.min(LOOK_EVERY)), Err(RecvTimeoutError::Timeout));
        }
        false
    }

    fn pass_on(&self, kind: Signal) {
        self.requested.store(true, Ordering::SeqCst);
        if let Some(child) = Pid::from_raw(self.child.load(Ordering::SeqCst)) {
            // The run may have ended just before.
            let _ = kill_process(child, kind);
        }
    }
}

/// Starts a thread that passes SIGINT and SIGTERM on to the run in progress.
pub(super) fn listen() -> anyhow::Result<Arc<Stopped>> {
    let stopped = Arc::new(Stopped::default());
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot receive signals")?;
    let guard = runtime.enter();
    let (interrupts, terminations) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (mut interrupts, mut terminations) =
        (interrupts.context("cannot receive SIGINT")?, terminations.context("cannot receive SIGTERM")?);
    drop(guard);
    let of_thread = Arc::clone(&stopped);
    let body = move || {
        runtime.block_on(async {
            loop {
                let kind = tokio::select! {
                    _ = interrupts.recv() => Signal::INT,
                    _ = terminations.recv() => Signal::TERM,
                };
                warn!("a signal requested the end of the sweep: the run in progress ends, and no further run starts");
                of_thread.pass_on(kind);
            }
        });
    };
    thread::Builder::new().name("sweep-signals".to_owned()).spawn(body).context("cannot start a thread")?;
    Ok(stopped)
}

/// A run to start.
pub(super) struct Child<'a> {
    /// The BenchmarkRun.
    pub(super) document: &'a str,
    pub(super) root: &'a Path,
    /// The name of the results folder below the root.
    pub(super) folder: &'a str,
    pub(super) arguments: &'a [String],
}

impl Child<'_> {
    /// Runs the process to its end. Its table goes nowhere, because the sweep prints its own; its messages and its progress go to stderr.
    pub(super) fn run(&self, stop: &Stopped) -> anyhow::Result<ChildEnd> {
        let program = std::env::current_exe().context("the path of this program is unknown")?;
        let mut child = Command::new(program)
            .arg("run")
            .args(["-f", "/dev/stdin"])
            .arg("--results")
            .arg(self.root)
            .args(["--folder", self.folder])
            .args(self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // A Ctrl-C of the terminal reaches this process alone, which passes it on once.
            .process_group(0)
            .spawn()
            .context("a run cannot be started; see the limits of processes and memory")?;
        stop.child.store(child.id().cast_signed(), Ordering::SeqCst);
        if stop.is_requested() {
            // The signal came before the process had started.
            stop.pass_on(Signal::TERM);
        }
        if let Some(mut stdin) = child.stdin.take() {
            // If the run has already ended, the write fails. Then its exit status explains the end.
            let _ = stdin.write_all(self.document.as_bytes());
        }
        let status = child.wait().context("the end of a run cannot be observed");
        stop.child.store(0, Ordering::SeqCst);
        Ok(ChildEnd(status?))
    }
}

/// How the process of a run ended.
#[derive(Debug)]
pub(super) struct ChildEnd(ExitStatus);

impl ChildEnd {
    /// Whether the run wrote a results folder.
    pub(super) fn wrote_results(&self) -> bool {
        let code = |it: ExitCode| i32::from(it.code());
        self.0.code().is_some_and(|it| it == code(ExitCode::Done) || it == code(ExitCode::Cancelled))
    }

    /// Why the run has no results, as a sentence.
    pub(super) fn reason(&self) -> String {
        let is = |it: ExitCode| self.0.code() == Some(i32::from(it.code()));
        match self.0.signal() {
            Some(signal) => format!("its process was killed by signal {signal}"),
            None if is(ExitCode::Target) => "the target did not become ready".to_owned(),
            None if is(ExitCode::Configuration) => "its configuration cannot be run".to_owned(),
            None if is(ExitCode::Storage) => "its results could not be stored".to_owned(),
            None if is(ExitCode::Cancelled) => "it was cancelled before its load began".to_owned(),
            None => format!("its process ended with exit code {}", self.0.code().unwrap_or_default()),
        }
    }
}
