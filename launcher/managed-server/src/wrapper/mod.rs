//! [I/O] The first process of a server's container in a cluster. It starts the engine, forwards its output unchanged, keeps a copy of limited size
//! without secrets, and serves that copy. It exits with the status of the engine. No benchmark request passes through it.

mod answers;
mod readiness;
mod traces;

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::{
        fd::{AsFd as _, BorrowedFd},
        unix::{fs::PermissionsExt as _, process::CommandExt as _},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use clock::Clock;
use crds::resolve::LOG_TOKEN;
use jiff::Timestamp;
use rustix::{
    io::ioctl_fionread,
    process::{Pid, Signal, WaitOptions, kill_process_group},
};
use serde::{Deserialize, Serialize};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

use readiness::Readiness;
pub use readiness::ReadyPath;
pub use traces::Trace;

use crate::{
    keeper::refusal,
    log::{self, Log, SoFar, Stream},
    order::LogEnd,
};

/// How long the output must be silent after the engine has ended, before the wrapper stops waiting for more. A process that the engine left behind
/// can keep the pipe open.
const OUTPUT_ENDS: Duration = Duration::from_secs(1);
/// Time limit for forwarding the rest of the output. Needed because the reader of our output can be slow, and a process that the engine left behind
/// can write forever.
const OUTPUT_LIMIT: Duration = Duration::from_secs(10);
/// The exit status that a shell uses for a program that does not exist.
const NOT_FOUND: u8 = 127;
/// The exit status that a shell uses for a program that cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// Added to the number of the signal that ended the engine to get the exit status, as in shells and container runtimes.
const SIGNALS: i32 = 128;
/// The signals that this process forwards to the engine.
const FORWARDED: [Signal; 6] = [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

/// What to start, and where to serve its output and its traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrapOrder {
    /// The engine: the program and its arguments.
    pub command: Vec<String>,
    /// The file for the copy of the output; its folder must exist.
    pub log: PathBuf,
    /// The folder in which the engine writes profiler traces; `None` if there is none.
    pub traces: Option<PathBuf>,
    /// The port on which the copy is served.
    pub port: u16,
    /// The readiness endpoint of the engine; `None` if readiness is not probed.
    pub ready: Option<ReadyPath>,
}

/// How an engine was started; `/start` returns it as JSON. All times are from the clock of the engine's machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WrappedStart {
    /// The host name, which is the pod's name in a cluster.
    pub host: String,
    /// The process id of the engine.
    pub pid: i32,
    /// When it was started.
    pub started: Timestamp,
    /// When the engine first reported that it is ready; absent if it has not yet, or if readiness is not probed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Timestamp>,
    /// Milliseconds from `started` to `ready`, measured with a monotonic clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_ms: Option<u64>,
    /// How often the container was started, including this start. The output of the previous start is in a separate file in the same folder.
    pub starts: u32,
    /// The time of this response.
    pub now: Timestamp,
    /// The UTC offset of the time zone in the engine's logs, in seconds.
    pub utc_offset_seconds: i32,
    /// The state of the file with the engine's output: what the file lacks, and what was redacted.
    pub log: LogEnd,
}

/// What the HTTP server needs to answer requests.
struct State {
    log: Option<Mutex<Log>>,
    path: PathBuf,
    traces: Option<PathBuf>,
    /// The bearer token that requests must have, from the variable [`LOG_TOKEN`], which is hidden from the engine. `None` if no token is needed.
    token: Option<String>,
    /// The process id and start time of the engine. Unset until the engine is started.
    started: OnceLock<(i32, Timestamp)>,
    ready: Readiness,
    starts: u32,
    /// Number of bytes in the output that were read. Number of bytes in the output that were forwarded.
    read: AtomicU64,
    passed: AtomicU64,
}

impl State {
    fn moved(&self) -> (u64, u64) {
        (self.read.load(Ordering::Relaxed), self.passed.load(Ordering::Relaxed))
    }

    fn log(&self) -> Option<std::sync::MutexGuard<'_, Log>> {
        self.log.as_ref().map(|it| it.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn so_far(&self) -> Option<SoFar> {
        self.log().map(|it| it.so_far())
    }

    fn start(&self) -> Option<WrappedStart> {
        let (pid, started) = *self.started.get()?;
        let now = clock::now();
        let zone = jiff::tz::TimeZone::system();
        let ready = self.ready.seen.get();
        Some(WrappedStart {
            host: fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned(),
            pid,
            started,
            ready: ready.map(|it| it.0),
            ready_ms: ready.map(|it| u64::try_from(it.1.as_millis()).unwrap_or(u64::MAX)),
            starts: self.starts,
            now,
            utc_offset_seconds: zone.to_offset(now).seconds(),
            log: self.log().map(|it| it.about()).unwrap_or_default(),
        })
    }
}

/// Starts the engine and waits until it ends. Returns the exit status for this process: the status of the engine, or 128 plus the number of the
/// signal that ended the engine.
pub fn wrap(order: WrapOrder) -> u8 {
    // In a container, the first process adopts all orphans. This has the same effect elsewhere, as in tests.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let done = tokio::runtime::Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        let done = runtime.block_on(wrapped(order));
        // Does not wait for threads that are still reading from a disk.
        runtime.shutdown_background();
        done
    });
    done.unwrap_or_else(|error| {
        say(&format!(
            "the server cannot be started: {error}; if the pod lacks processes or open files, raise its limits; target.server.wrapper: false starts it \
             without this program"
        ));
        NOT_EXECUTABLE
    })
}

/// Copies this program to `path`, so that another container can start it. The folder must exist.
///
/// # Errors
/// The program cannot be read, or the path cannot be written.
pub fn install(path: &Path) -> io::Result<()> {
    let partial = path.with_extension("partial");
    fs::copy(std::env::current_exe()?, &partial)?;
    // The other container can run as a different user.
    fs::set_permissions(&partial, fs::Permissions::from_mode(0o755))?;
    fs::rename(&partial, path)
}

/// Keeps the output of the container's previous start, because after a crash it shows the cause. This works because the volume survives a restart of
/// the container. Returns the number of this start, from 1. Errors are ignored, because starting the server is more important.
fn keep_former(log: &Path) -> u32 {
    let beside = |end: &str| {
        let mut path = log.as_os_str().to_owned();
        path.push(end);
        PathBuf::from(path)
    };
    let _ = fs::rename(log, beside(".1"));
    let count = beside(".starts");
    let before = fs::read_to_string(&count).ok().and_then(|it| it.trim().parse::<u32>().ok()).unwrap_or(0);
    let starts = before.saturating_add(1);
    let _ = fs::write(count, starts.to_string());
    starts
}

/// Writes a line to the engine's output.
fn say(message: &str) {
    let _ = writeln!(io::stderr(), "benchwright: {message}");
}

async fn wrapped(order: WrapOrder) -> io::Result<u8> {
    let mut child_ended = signal(SignalKind::child())?;
    let mut signals = forwarded()?;
    let starts = keep_former(&order.log);
    let log = Log::create(&order.log)
        .inspect_err(|error| {
            let path = order.log.display();
            say(&format!(
                "the output of the server is not kept, so the report has no log: {path}: {error}; free space on the node's disk, or let the user of the container write there"
            ));
        });
    let state = Arc::new(State {
        log: log.ok().map(Mutex::new),
        path: order.log,
        traces: order.traces,
        token: std::env::var(LOG_TOKEN).ok().filter(|it| !it.is_empty()),
        started: OnceLock::new(),
        ready: Readiness::new(order.ready),
        starts,
        read: AtomicU64::new(0),
        passed: AtomicU64::new(0),
    });
    if let Err(error) = answers::serve(order.port, &state) {
        say(&format!(
            "the launcher cannot request the output of the server, so the report has no log: port {}: {error}; free that port in the container",
            order.port
        ));
    }
    let [program, args @ ..] = order.command.as_slice() else { return Err(io::Error::other("no program is named")) };
    let (out, child_out) = io::pipe()?;
    let (err, child_err) = io::pipe()?;
    let mut process = Command::new(program);
    process.args(args).env_remove(LOG_TOKEN).process_group(0).stdin(Stdio::null()).stdout(child_out).stderr(child_err);
    let (at, clock) = (clock::now(), Clock::start());
    let child = match process.spawn() {
        Ok(child) => child,
        Err(error) => {
            say(&refusal(program, &error));
            return Ok(if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_EXECUTABLE });
        }
    };
    drop(process);
    let pid = i32::try_from(child.id()).unwrap_or_default();
    let _ = state.started.set((pid, at));
    let _ = state.ready.clock.set(clock);
    let pipes = [out.try_clone()?, err.try_clone()?];
    // The channel closes when both output threads have ended.
    let (open, mut output) = mpsc::channel::<()>(1);
    pass_on(out, Stream::Out, &state, open.clone())?;
    pass_on(err, Stream::Err, &state, open)?;
    let watched = Arc::clone(&state);
    tokio::task::spawn(async move { watched.ready.watch().await });
    let status = loop {
        // The engine might have ended before this process listened for SIGCHLD.
        if let Some(status) = reap(pid) {
            break status;
        }
        tokio::select! {
            _ = child_ended.recv() => {}
            Some(number) = signals.recv() => {
                if let Some(group) = Pid::from_raw(pid) {
                    let _ = kill_process_group(group, number);
                }
            }
        }
    };
    let _ = clock::limit(OUTPUT_LIMIT, output_ends(&state, &pipes, &mut output)).await;
    // Writes the end of the log, which is still in memory, to the file. After a restart, the container keeps that file.
    if let Some(mut log) = state.log() {
        log.close();
    }
    Ok(status)
}

/// Waits until the output has ended, or until it is silent for a while and everything that was read has been forwarded.
async fn output_ends(state: &State, pipes: &[io::PipeReader], output: &mut mpsc::Receiver<()>) {
    let is_read = || pipes.iter().all(|it| ioctl_fionread(it) == Ok(0));
    let mut before = state.moved();
    while clock::limit(OUTPUT_ENDS, output.recv()).await.is_err() {
        let now = state.moved();
        // On a busy machine, the thread that reads a pipe can be late, so that the pipe still contains output.
        if now == before && now.0 == now.1 && is_read() {
            return;
        }
        before = now;
    }
}

/// Returns a channel with the signals that this process receives, in order.
fn forwarded() -> io::Result<mpsc::Receiver<Signal>> {
    let (sender, receiver) = mpsc::channel(FORWARDED.len());
    for number in FORWARDED {
        let mut signals = signal(SignalKind::from_raw(number.as_raw()))?;
        let sender = sender.clone();
        tokio::task::spawn(async move {
            while signals.recv().await.is_some() {
                if sender.send(number).await.is_err() {
                    return;
                }
            }
        });
    }
    Ok(receiver)
}

/// Reaps all processes that have ended, including orphans. Returns the exit status of the engine; `None` if it still runs.
fn reap(engine: i32) -> Option<u8> {
    let mut found = None;
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        let code = status.exit_status().or(status.terminating_signal().map(|it| it + SIGNALS));
        if let Some(code) = code.filter(|_| pid.as_raw_nonzero().get() == engine) {
            found = Some(u8::try_from(code).unwrap_or(u8::MAX));
        }
    }
    found
}

/// Forwards one output stream of the engine and keeps a copy. A slow reader of our output slows the engine down, as it would without the wrapper.
fn pass_on(from: io::PipeReader, stream: Stream, state: &Arc<State>, open: mpsc::Sender<()>) -> io::Result<()> {
    let mut to = Some(match stream {
        Stream::Out => own(io::stdout().as_fd())?,
        Stream::Err => own(io::stderr().as_fd())?,
    });
    let state = Arc::clone(state);
    let body = move || {
        log::read(from, |part| {
            let count = part.len() as u64;
            state.read.fetch_add(count, Ordering::Relaxed);
            if to.as_mut().is_some_and(|it| it.write_all(part).is_err()) {
                // If nobody reads our output, it is discarded, so that the engine does not block.
                to = None;
            }
            if let Some(mut log) = state.log() {
                log.push(stream, part);
            }
            state.passed.fetch_add(count, Ordering::Relaxed);
        });
        drop(open);
    };
    thread::Builder::new().name("output".into()).spawn(body).map(drop)
}

/// Returns the same output as a file that is not buffered by the standard library.
fn own(output: BorrowedFd<'_>) -> io::Result<File> {
    Ok(File::from(output.try_clone_to_owned()?))
}
