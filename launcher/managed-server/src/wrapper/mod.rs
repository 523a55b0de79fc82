//! [I/O] The first process of a server's container in a cluster: it starts the engine, passes its output on unchanged, keeps a bounded copy
//! without secrets, and answers whoever asks for that copy. It ends as the engine ends. It is on no request's way.

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

/// How long nothing may come of the output after the engine has ended: a process that it left may hold it open.
const OUTPUT_ENDS: Duration = Duration::from_secs(1);
/// How long the rest of the output may take in all: who reads ours may be slow, and a process that the engine left may write without end.
const OUTPUT_LIMIT: Duration = Duration::from_secs(10);
/// The exit statuses of a shell for a program that does not exist, and for one that may not be executed.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;
/// What is added to the number of the signal that ended the engine, as a shell and container runtimes do.
const SIGNALS: i32 = 128;
/// The signals that the engine gets in place of this process.
const FORWARDED: [Signal; 6] = [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

/// What is started, and where its output and its traces are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrapOrder {
    /// The engine: the program and its arguments.
    pub command: Vec<String>,
    /// The file of the copy; its folder exists.
    pub log: PathBuf,
    /// The folder into which the engine writes the traces of a profiler; `None`: it has none.
    pub traces: Option<PathBuf>,
    /// The port on which the copy can be read.
    pub port: u16,
    /// Where the engine is asked whether it is ready; `None`: it is not asked.
    pub ready: Option<ReadyPath>,
}

/// How an engine was started; `/start` answers it as JSON. All times are by the clock of the machine of the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WrappedStart {
    /// The name of the machine, which in a cluster is that of the pod.
    pub host: String,
    /// The process of the engine.
    pub pid: i32,
    /// When it was started.
    pub started: Timestamp,
    /// When it first answered that it is ready; absent: it has not, or is not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Timestamp>,
    /// From the start until then by a clock that is never set, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_ms: Option<u64>,
    /// How often its container has started, with this time. The output of the time before is in a file beside the copy of this one.
    pub starts: u32,
    /// The time of this answer.
    pub now: Timestamp,
    /// How far the zone of the engine's logs is ahead of UTC, in seconds.
    pub utc_offset_seconds: i32,
    /// What the copy of its output lacks or hides.
    pub log: LogEnd,
}

/// What the answers are made of.
struct State {
    log: Option<Mutex<Log>>,
    path: PathBuf,
    traces: Option<PathBuf>,
    /// The bearer token that requests must have, from the variable [`LOG_TOKEN`], which the engine does not get. `None`: they need none.
    token: Option<String>,
    /// Process and time; unset: it is not started yet.
    started: OnceLock<(i32, Timestamp)>,
    ready: Readiness,
    starts: u32,
    /// Bytes of the output that were read, and those that were passed on.
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

/// Starts the engine and stays until it ends. Returns the exit status of this process: that of the engine, or 128 and the number of the signal
/// that ended it.
pub fn wrap(order: WrapOrder) -> u8 {
    // The first process of a container gets all orphans anyway.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let done = tokio::runtime::Builder::new_current_thread().enable_all().build().and_then(|runtime| {
        let done = runtime.block_on(wrapped(order));
        // An answer that waits for a disk is not waited for.
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

/// Copies this program to a path, from which another container starts it. The folder exists.
///
/// # Errors
/// The program cannot be read, or the path cannot be written.
pub fn install(path: &Path) -> io::Result<()> {
    let partial = path.with_extension("partial");
    fs::copy(std::env::current_exe()?, &partial)?;
    // The user of the other container is not known.
    fs::set_permissions(&partial, fs::Permissions::from_mode(0o755))?;
    fs::rename(&partial, path)
}

/// Keeps the output of a former start of the container, whose volume stays: that of a crash is the one to read. Returns which start this is,
/// from 1 on. What cannot be kept is lost: the server is what matters.
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

/// A line among those of the engine.
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
                "the output of the server is not kept, so the report has no log: {path}: {error}; make room on the disk of the node, or let the user of \
                 the container write there"
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
            "the output of the server cannot be asked for, so the report has no log: port {}: {error}; free that port in the container",
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
    // Its channel ends with the last of both threads.
    let (open, mut output) = mpsc::channel::<()>(1);
    pass_on(out, Stream::Out, &state, open.clone())?;
    pass_on(err, Stream::Err, &state, open)?;
    let watched = Arc::clone(&state);
    tokio::task::spawn(async move { watched.ready.watch().await });
    let status = loop {
        // One may have come before it was listened for.
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
    // Its end is in memory, and a next start of the container keeps the file.
    if let Some(mut log) = state.log() {
        log.close();
    }
    Ok(status)
}

/// Waits until the output has ended, or nothing has come for a while and nothing is on its way.
async fn output_ends(state: &State, pipes: &[io::PipeReader], output: &mut mpsc::Receiver<()>) {
    let is_read = || pipes.iter().all(|it| ioctl_fionread(it) == Ok(0));
    let mut before = state.moved();
    while clock::limit(OUTPUT_ENDS, output.recv()).await.is_err() {
        let now = state.moved();
        // On a busy machine the thread that reads a pipe may be late: then the pipe still holds output.
        if now == before && now.0 == now.1 && is_read() {
            return;
        }
        before = now;
    }
}

/// The signals that this process gets from now on, in their order.
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

/// Asks for every process that has ended, orphans among them. The exit status of the engine; `None`: it runs.
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

/// Passes a stream of the engine on, and keeps its copy. Who reads our output slowly slows the engine down, as without us.
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
                // The engine must not wait for an output that has gone.
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

/// The same output without the buffer of the standard library.
fn own(output: BorrowedFd<'_>) -> io::Result<File> {
    Ok(File::from(output.try_clone_to_owned()?))
}
