//! [I/O] Runs `benchwright archive` in the pod, and unpacks its output on this machine.

use std::{
    convert::Infallible,
    io::{self, BufReader, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use archive::{Received, UnpackError};
use crds::{units::Span, wording::one_line};
use futures::FutureExt as _;
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Status};
use kube::{Api, api::AttachParams};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    sync::mpsc,
    time::{Instant, interval, timeout},
};

use super::{
    folder::Partial,
    pod::{CONTAINER, MOUNT, PROGRAM},
    source::Source,
};
use crate::{
    connection::Connection,
    console::{self, StatusLine},
    failure::{Failure, Right, code_of, unreachable},
};

/// The right to exec. An exec starts with a GET request, and up to version 1.34 Kubernetes requires no other right.
pub(crate) const EXEC: Right = Right::new("get", "", "pods/exec", "edit");
/// Size of a chunk for the unpacking thread, in bytes.
const CHUNK: usize = 128 << 10;
/// Maximum number of chunks that wait for the unpacking thread.
const WAITING_CHUNKS: usize = 8;
/// Maximum number of bytes in the command's stderr to keep.
const MAX_SAID: usize = 8 << 10;
/// Maximum time to wait for the end of stderr after the end of stdout.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Time between two updates of the progress on a terminal.
const TERMINAL_INTERVAL: Duration = Duration::from_secs(1);
/// Time between two updates of the progress in a log.
const LOG_INTERVAL: Duration = Duration::from_secs(15);

/// Number of bytes already written to disk, and total number of bytes in all files.
#[derive(Default)]
struct Progress {
    done: AtomicU64,
    total: AtomicU64,
}

/// The error that no byte arrived within the time limit.
struct Stalled;

/// Copies the named files, or all files if none is named, into a folder. If this future is dropped, the unpacking thread deletes the folder.
pub(super) async fn receive(
    connection: &Connection,
    source: &Source,
    pod: &str,
    only: &[&str],
    folder: Partial,
) -> Result<(Partial, Vec<Received>), Failure> {
    let pods: Api<Pod> = Api::namespaced(connection.client.clone(), &connection.namespace);
    let mut command = vec![PROGRAM, "archive", MOUNT];
    command.extend(only.iter().flat_map(|it| ["--file", it]));
    let streams = AttachParams {
        container: Some(CONTAINER.into()),
        max_stdout_buf_size: Some(CHUNK),
        max_stderr_buf_size: Some(CHUNK),
        ..AttachParams::default()
    };
    let mut process = pods.exec(pod, command, &streams).await.map_err(|it| refused(connection, pod, &it))?;
    let (Some(stdout), Some(stderr), Some(status)) = (process.stdout(), process.stderr(), process.take_status()) else {
        return Err(Failure::error("the connection into the pod has no streams; try again"));
    };
    let progress = Arc::new(Progress::default());
    let shared = Arc::clone(&progress);
    let (sender, chunks) = mpsc::channel(WAITING_CHUNKS);
    let unpacking = tokio::task::spawn_blocking(move || {
        let stream = BufReader::with_capacity(CHUNK, Chunks { chunks, chunk: Vec::new(), read: 0 });
        let received = archive::unpack(stream, folder.path(), |done, total| {
            shared.done.store(done, Relaxed);
            shared.total.store(total, Relaxed);
        });
        (folder, received)
    });
    let mut said = tokio::spawn(said(stderr));
    let pumped = tokio::select! {
        pumped = pump(stdout, status, sender, connection.request_timeout) => pumped,
        never = show(&progress) => match never {},
    };
    let (folder, received) =
        unpacking.await.map_err(|it| Failure::error(format!("the results could not be unpacked: {it}; try again")))?;
    let said = timeout(LAST_WORDS, &mut said).await.ok().and_then(Result::ok).unwrap_or_default();
    let Ok(status) = pumped else {
        return Err(Failure::error(format!(
            "no data of the results arrived for --request-timeout {}; try again, with a longer timeout if the volume is slow",
            Span(connection.request_timeout)
        )));
    };
    let received = received.map_err(|it| failed(it, status.as_ref(), &said, source, &connection.namespace))?;
    if let Some(status) = status.filter(|it| !is_success(it)) {
        let message = status.message.unwrap_or_default();
        return Err(Failure::error(format!(
            "`benchwright archive` failed: {}{}; try again",
            one_line(&message),
            last_line(&said)
        )));
    }
    for line in said.lines() {
        console::say(one_line(line));
    }
    Ok((folder, received))
}

/// Passes the stream to the unpacking thread, and returns the exit status of the command, if it arrived. Also returns when the thread has stopped
/// after an error.
async fn pump(
    mut stdout: impl AsyncRead + Unpin,
    status: impl Future<Output = Option<Status>>,
    sender: mpsc::Sender<Vec<u8>>,
    limit: Duration,
) -> Result<Option<Status>, Stalled> {
    let mut status = std::pin::pin!(status.fuse());
    let mut ended = None;
    loop {
        let mut chunk = vec![0; CHUNK];
        let read = tokio::select! {
            biased;
            read = timeout(limit, stdout.read(&mut chunk)) => read.map_err(|_| Stalled)?,
            status = &mut status, if ended.is_none() => {
                ended = Some(status);
                continue;
            }
            // The connection broke. kube does not end the stream in this case, but all bytes that arrived before the break were read.
            () = std::future::ready(()), if matches!(ended, Some(None)) => return Ok(None),
        };
        let Ok(read @ 1..) = read else { break };
        chunk.truncate(read);
        if sender.send(chunk).await.is_err() {
            return Ok(None);
        }
    }
    // The status arrives before the end of the stream, or never.
    Ok(match ended {
        Some(status) => status,
        None => status.now_or_never().flatten(),
    })
}

/// The stream as a reader for the unpacking thread. It ends when the sender is dropped.
struct Chunks {
    chunks: mpsc::Receiver<Vec<u8>>,
    chunk: Vec<u8>,
    /// Number of bytes in the current chunk that were already read.
    read: usize,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.chunk.len() {
            let Some(chunk) = self.chunks.blocking_recv() else { return Ok(0) };
            (self.chunk, self.read) = (chunk, 0);
        }
        let length = buffer.len().min(self.chunk.len() - self.read);
        buffer[..length].copy_from_slice(&self.chunk[self.read..self.read + length]);
        self.read += length;
        Ok(length)
    }
}

/// The error for an exec that did not start.
fn refused(connection: &Connection, pod: &str, error: &kube::Error) -> Failure {
    let namespace = &connection.namespace;
    Failure::error(match code_of(error) {
        Some(401 | 403) => format!(
            "you may not {EXEC} in namespace {namespace}; Kubernetes 1.35 also requires the verb create; the role edit has both rights"
        ),
        Some(code) => format!("the API server refuses an exec in pod {pod} ({code}); try again"),
        None => unreachable(error),
    })
}

/// The error for an invalid stream: the message of the command, or if there is none, the error of the unpacker.
fn failed(error: UnpackError, status: Option<&Status>, said: &str, source: &Source, namespace: &str) -> Failure {
    let ended_badly = status.is_some_and(|it| !is_success(it));
    Failure::error(match &error {
        UnpackError::Write { source, .. } => {
            let room = match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                    "free space, or name a folder on another disk"
                }
                _ => "name a folder where you may write",
            };
            format!("{error}; {room}")
        }
        // If the folder is missing, the kubelet creates an empty one to mount it.
        _ if ended_badly && said.contains(archive::NO_FILES) => gone(source, namespace),
        _ if ended_badly || !said.is_empty() => {
            let message = status.and_then(|it| it.message.as_deref()).map(one_line).unwrap_or_default();
            format!("`benchwright archive` failed: {message}{}; {error}", last_line(said))
        }
        _ => format!("{error}; try again"),
    })
}

/// The remedy if the results folder was deleted.
fn gone(source: &Source, namespace: &str) -> String {
    let Source { run, claim, folder, .. } = source;
    format!(
        "the results of {run} are gone: folder {folder} on claim {claim} was deleted or moved after the run had ended; bring it back from a \
         backup of the claim, or run it again by `kubectl benchwright rerun {run} -n {namespace}`; the status still has its figures: \
         `kubectl benchwright gate {run} -n {namespace}`"
    )
}

fn is_success(status: &Status) -> bool {
    status.status.as_deref() == Some("Success")
}

/// The last line that a command printed, preceded by a colon. Empty if it printed nothing.
fn last_line(said: &str) -> String {
    said.lines().rfind(|it| !it.trim().is_empty()).map(|it| format!(": {}", one_line(it))).unwrap_or_default()
}

/// Reads stderr to its end, and returns its first [`MAX_SAID`] bytes.
async fn said(mut stderr: impl AsyncRead + Unpin) -> String {
    let (mut kept, mut chunk) = (Vec::new(), [0; 1024]);
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        let room = MAX_SAID.saturating_sub(kept.len());
        kept.extend_from_slice(&chunk[..read.min(room)]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// Shows the progress until the future is dropped.
async fn show(progress: &Progress) -> Infallible {
    let mut line = StatusLine::new();
    let mut ticks = interval(if line.is_terminal() { TERMINAL_INTERVAL } else { LOG_INTERVAL });
    let start = Instant::now();
    loop {
        ticks.tick().await;
        let (done, total) = (progress.done.load(Relaxed), progress.total.load(Relaxed));
        if total > 0 && done < total {
            let rate = done as f64 / start.elapsed().as_secs_f64().max(0.001);
            line.show(&format!("  {} of {}, {}/s", super::size(done), super::size(total), super::size(rate as u64)));
        }
    }
}
