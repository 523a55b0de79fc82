//! [I/O] The simulated server: accepts and serves connections until it shuts down.

use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tracing::{debug, warn};

use super::batching_model::BatchingModel;
use super::options::SimOptions;
use super::profiler::Profiler;
use super::server_log::ServerLog;
use super::sleep::WokenTags;

/// Maximum number of open connections. Further connections wait in the listener's backlog. Each connection has at most one request, so this also
/// limits the engine's queue.
const MAX_CONNECTIONS: u32 = 32_768;

/// How long a client can take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum size of a request's head, and of an answer's buffer per connection.
const CONNECTION_BUFFER: usize = 64 << 10;

/// The pause after a connection that could not be accepted.
const NEXT_ACCEPT: Duration = Duration::from_millis(100);
/// Number of failures per log line. With [`NEXT_ACCEPT`] this is one line in ten seconds.
const WARN_EVERY: u64 = 100;

/// How long open connections can take to close at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// A simulated server, with a running or a paused clock. It belongs to the tokio runtime on which it is first used, which can have several threads.
#[derive(Debug)]
pub struct Simulator {
    pub(super) options: SimOptions,
    pub(super) model: Arc<BatchingModel>,
    pub(super) started: jiff::Timestamp,
    pub(super) requests: AtomicU64,
    pub(super) profiler: Profiler,
    pub(super) woken: WokenTags,
    /// The log for events after the start, in vLLM's words.
    pub(super) log: Option<ServerLog>,
    stopping: watch::Sender<bool>,
    /// The same value as `stopping`, for reading without a lock. It is set before `stopping` is.
    is_stopping: AtomicBool,
}

impl Simulator {
    /// Creates a server that is idle until it gets connections.
    pub fn new(options: SimOptions) -> Arc<Self> {
        Simulator::with(options, None)
    }

    /// Creates a server with a log that already contains its start.
    pub fn logging(options: SimOptions, log: ServerLog) -> Arc<Self> {
        Simulator::with(options, Some(log))
    }

    fn with(options: SimOptions, log: Option<ServerLog>) -> Arc<Self> {
        let model = BatchingModel::new(&options);
        let stopping = watch::Sender::new(false);
        let (requests, is_stopping) = (AtomicU64::new(0), AtomicBool::new(false));
        Arc::new(Simulator {
            options,
            model,
            started: clock::now(),
            requests,
            profiler: Profiler::default(),
            woken: WokenTags::default(),
            log,
            stopping,
            is_stopping,
        })
    }

    /// Serves connections until `shutdown` completes. Then aborts running requests, as vLLM does, and closes the connections. Sockets use real time,
    /// so from this call on the engine does, too.
    pub async fn serve(self: &Arc<Self>, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        self.model.use_real_time();
        let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS as usize));
        tokio::pin!(shutdown);
        let mut failures = 0_u64;
        let mut spare = spare_file();
        loop {
            let accepted = tokio::select! {
                () = &mut shutdown => break,
                accepted = accept(&listener, &slots) => accepted,
            };
            let (stream, slot) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // The usual reason is too many open files, which ends when connections close.
                    if failures.is_multiple_of(WARN_EVERY) {
                        warn!(%error, "connections wait, because none can be accepted; raise the limit of open files (ulimit -n)");
                    }
                    failures += 1;
                    // If clients keep their connections open, a new connection would wait forever. Closing the spare file frees a descriptor, with
                    // which the new connection can be accepted and then closed.
                    if spare.take().is_some() {
                        let _ = clock::limit(NEXT_ACCEPT, accept(&listener, &slots)).await;
                    } else {
                        pause(NEXT_ACCEPT).await;
                    }
                    spare = spare_file();
                    continue;
                }
            };
            // Send each token as soon as it is ready, not together with the next one. The call fails only if the client has disconnected.
            let _ = stream.set_nodelay(true);
            let simulator = self.clone();
            tokio::spawn(async move {
                simulator.serve_connection(stream).await;
                drop(slot);
            });
        }
        drop(listener);
        self.stop();
        let ended = slots.acquire_many(MAX_CONNECTIONS);
        if clock::limit(SHUTDOWN_TIMEOUT, ended).await.is_err() {
            warn!("some connections did not end in time");
        }
    }

    /// Serves one connection until either side ends it.
    pub async fn serve_connection(self: &Arc<Self>, io: impl AsyncRead + AsyncWrite + Unpin) {
        let service = service_fn(|request| async { Ok::<_, Infallible>(self.answer(request).await) });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(CONNECTION_BUFFER)
            // Chunks are small, so copying them once is cheaper than a list of buffers.
            .writev(false)
            .serve_connection(TokioIo::new(io), service);
        tokio::pin!(connection);
        let stopped = self.stopped();
        tokio::pin!(stopped);
        let mut known: Option<Waker> = None;
        let ended = std::future::poll_fn(|cx| {
            if let Poll::Ready(ended) = connection.as_mut().poll(cx) {
                return Poll::Ready(Some(ended));
            }
            // Poll `stopped` only if the waker or the state has changed. This code runs for each token, and polling takes a lock.
            let is_known = known.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
            if is_known && !self.is_stopping.load(Ordering::Acquire) {
                return Poll::Pending;
            }
            known = Some(cx.waker().clone());
            stopped.as_mut().poll(cx).map(|()| None)
        });
        let ended = match ended.await {
            Some(ended) => ended,
            None => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            debug!(%error, "a connection ended early");
        }
    }

    /// Aborts running requests: streams get a chunk with `finish_reason: "abort"`, their usage and `[DONE]`. Connections close.
    pub fn stop(&self) {
        self.model.close();
        self.is_stopping.store(true, Ordering::Release);
        self.stopping.send_replace(true);
    }

    /// Waits for [`Simulator::stop`].
    pub(super) async fn stopped(&self) {
        // This cannot fail, because the sender lives as long as `self`.
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }
}

/// Returns the next connection and its permit.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let slot = slots.clone().acquire_owned().await.expect("the semaphore is never closed");
    let (stream, _) = listener.accept().await?;
    Ok((stream, slot))
}

/// A file that is closed when a connection needs a file descriptor.
fn spare_file() -> Option<File> {
    File::open("/dev/null").ok()
}

/// Waits before a retry.
async fn pause(length: Duration) {
    // The future never completes, so only the time limit ends this wait.
    let _ = clock::limit(length, std::future::pending::<()>()).await;
}
