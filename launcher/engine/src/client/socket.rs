//! [I/O] Sockets to the target. They record when bytes are sent and received, before any other code processes the bytes.

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use crds::benchmark_run::HttpVersion;
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::client::TlsStream;

use super::{
    resolver::{AddressError, Resolver},
    tls::Tls,
};
use crate::vitals::receive;
use clock::Clock;

/// The name of HTTP/1.1 in ALPN.
const HTTP1: &[u8] = b"http/1.1";
/// The name of HTTP/2 in ALPN.
const HTTP2: &[u8] = b"h2";

/// How to open connections to the target.
#[derive(Clone)]
pub(super) enum Connector {
    Network {
        host: String,
        port: u16,
        tls: Option<Tls>,
        /// Whether to use HTTP/2 even if the server did not choose it.
        http2: bool,
        resolver: Resolver,
    },
    Unix {
        path: PathBuf,
        http2: bool,
    },
    InProcess(Arc<dyn Fn() -> DuplexStream + Send + Sync>),
}

impl Connector {
    /// Sets the HTTP version for future connections.
    pub(super) fn speak(&mut self, version: HttpVersion) {
        let (http2, tls) = match self {
            Connector::Network { tls, http2, .. } => (http2, tls.as_mut()),
            Connector::Unix { http2, .. } => (http2, None),
            Connector::InProcess(_) => return,
        };
        *http2 = version == HttpVersion::Http2;
        if let Some(tls) = tls {
            tls.offer(match version {
                HttpVersion::Auto => &[HTTP2, HTTP1],
                HttpVersion::Http1 => &[HTTP1],
                HttpVersion::Http2 => &[HTTP2],
            });
        }
    }

    /// Whether a socket from this connector uses HTTP/2.
    pub(super) fn speaks_http2(&self, socket: &Socket) -> bool {
        match (self, socket) {
            (_, Socket::Tls(stream)) if stream.get_ref().1.alpn_protocol() == Some(HTTP2) => true,
            (Connector::Network { http2, .. } | Connector::Unix { http2, .. }, _) => *http2,
            (Connector::InProcess(_), _) => false,
        }
    }

    /// Returns the allowed addresses of the target. Empty for a Unix socket and for a server in this process.
    pub(super) async fn resolve(&self) -> Result<Vec<SocketAddr>, AddressError> {
        match self {
            Connector::Network { host, port, resolver, .. } => resolver.addresses(host, *port).await,
            Connector::Unix { .. } | Connector::InProcess(_) => Ok(Vec::new()),
        }
    }

    /// Sets the resolver that finds and checks the addresses from now on.
    ///
    /// # Errors
    /// The target is a Unix socket, and the resolver forbids Unix sockets.
    pub(super) fn resolve_with(&mut self, new: Resolver) -> Result<(), AddressError> {
        match self {
            Connector::Network { resolver, .. } => *resolver = new,
            Connector::Unix { path, .. } => new.check_socket(path)?,
            Connector::InProcess(_) => {}
        }
        Ok(())
    }

    /// Connects to the first address that accepts, starting with the address at index `first`. Each address gets its share of `limit`, so
    /// that an address that does not respond leaves time for the others.
    pub(super) async fn connect(&self, addresses: &[SocketAddr], first: usize, limit: Duration) -> io::Result<Socket> {
        let tls = match self {
            Connector::InProcess(connect) => return Ok(Socket::InProcess(connect())),
            Connector::Unix { path, .. } => return Ok(Socket::Unix(UnixStream::connect(path).await?)),
            Connector::Network { tls, .. } => tls,
        };
        let mut last = io::Error::other("the target has no address");
        let each = limit / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let last_place = addresses.len().saturating_sub(1);
        for place in 0..addresses.len() {
            let connecting = TcpStream::connect(addresses[(first.wrapping_add(place)) % addresses.len()]);
            let connected = if place == last_place {
                // The last address gets all the remaining time, which the caller limits.
                connecting.await
            } else {
                clock::limit(each, connecting).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            };
            match connected {
                Ok(stream) => {
                    // Sends each request immediately, instead of waiting for more data.
                    stream.set_nodelay(true)?;
                    return Ok(match tls {
                        None => Socket::Tcp(stream),
                        Some(tls) => Socket::Tls(Box::new(tls.connect(stream).await?)),
                    });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

pub(super) enum Socket {
    Tcp(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
    Unix(UnixStream),
    InProcess(DuplexStream),
}

/// When bytes were sent and received. The socket writes these times, and the request reads them. Both run in one task, so the atomics serve
/// only to share the values.
#[derive(Debug)]
pub(super) struct IoTimestamps {
    clock: Clock,
    /// Time of the first write since the last reset, in nanoseconds plus one; 0 if there was none.
    sent: AtomicU64,
    /// When the last byte of the request was handed to the socket, in nanoseconds plus one; 0 if that has not happened.
    written: AtomicU64,
    /// Time of the last read that returned bytes, in nanoseconds.
    read_at: AtomicU64,
    /// Number of reads that returned bytes.
    reads: AtomicU64,
    /// Whether the launcher made the last read so late that its events might have arrived at different times.
    was_late: AtomicBool,
}

impl IoTimestamps {
    pub(super) fn new(clock: Clock) -> Arc<IoTimestamps> {
        let zero = || AtomicU64::new(0);
        let was_late = AtomicBool::new(false);
        Arc::new(IoTimestamps { clock, sent: zero(), written: zero(), read_at: zero(), reads: zero(), was_late })
    }

    /// Resets the write times. Called before each request.
    pub(super) fn reset(&self) {
        self.sent.store(0, Ordering::Relaxed);
        self.written.store(0, Ordering::Relaxed);
    }

    /// When the first byte of the request was handed to the socket.
    pub(super) fn sent(&self) -> Option<Duration> {
        self.sent.load(Ordering::Relaxed).checked_sub(1).map(Duration::from_nanos)
    }

    /// When the last byte of the request was handed to the socket.
    pub(super) fn written(&self) -> Option<Duration> {
        self.written.load(Ordering::Relaxed).checked_sub(1).map(Duration::from_nanos)
    }

    /// Returns the current time on the clock of these timestamps.
    pub(super) fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Returns when bytes last arrived, and the number of that read.
    pub(super) fn last_read(&self) -> (Duration, u64) {
        (Duration::from_nanos(self.read_at.load(Ordering::Relaxed)), self.reads.load(Ordering::Relaxed))
    }

    /// Whether the launcher made the last read so late that its events might have arrived at different times.
    pub(super) fn last_read_was_late(&self) -> bool {
        self.was_late.load(Ordering::Relaxed)
    }

    fn nanos(&self) -> u64 {
        u64::try_from(self.clock.now().as_nanos()).unwrap_or(u64::MAX - 1)
    }

    /// Records the time of the first write of a request.
    pub(super) fn record_write(&self) {
        if self.sent.load(Ordering::Relaxed) == 0 {
            self.sent.store(self.nanos() + 1, Ordering::Relaxed);
        }
    }

    /// Records when the whole request was handed over.
    pub(super) fn record_written(&self) {
        self.written.store(self.nanos() + 1, Ordering::Relaxed);
    }

    fn record_read(&self) {
        let nanos = self.nanos();
        self.was_late.store(receive::read(Duration::from_nanos(nanos)), Ordering::Relaxed);
        self.read_at.store(nanos, Ordering::Relaxed);
        self.reads.store(self.reads.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// A socket that records timestamps.
pub(super) struct TimestampedSocket {
    socket: Socket,
    timestamps: Arc<IoTimestamps>,
}

impl TimestampedSocket {
    pub(super) fn new(socket: Socket, clock: Clock) -> (TimestampedSocket, Arc<IoTimestamps>) {
        let timestamps = IoTimestamps::new(clock);
        (TimestampedSocket { socket, timestamps: Arc::clone(&timestamps) }, timestamps)
    }
}

impl AsyncRead for TimestampedSocket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(match &mut self.socket {
            Socket::Tcp(it) => Pin::new(it).poll_read(cx, buffer),
            Socket::Tls(it) => Pin::new(it).poll_read(cx, buffer),
            Socket::Unix(it) => Pin::new(it).poll_read(cx, buffer),
            Socket::InProcess(it) => Pin::new(it).poll_read(cx, buffer),
        })?;
        if buffer.filled().len() > before {
            self.timestamps.record_read();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TimestampedSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.timestamps.record_write();
        match &mut self.socket {
            Socket::Tcp(it) => Pin::new(it).poll_write(cx, bytes),
            Socket::Tls(it) => Pin::new(it).poll_write(cx, bytes),
            Socket::Unix(it) => Pin::new(it).poll_write(cx, bytes),
            Socket::InProcess(it) => Pin::new(it).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.timestamps.record_write();
        match &mut self.socket {
            Socket::Tcp(it) => Pin::new(it).poll_write_vectored(cx, pieces),
            Socket::Tls(it) => Pin::new(it).poll_write_vectored(cx, pieces),
            Socket::Unix(it) => Pin::new(it).poll_write_vectored(cx, pieces),
            Socket::InProcess(it) => Pin::new(it).poll_write_vectored(cx, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.socket {
            Socket::Tcp(it) => it.is_write_vectored(),
            Socket::Tls(it) => it.is_write_vectored(),
            Socket::Unix(it) => it.is_write_vectored(),
            Socket::InProcess(it) => it.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Tcp(it) => Pin::new(it).poll_flush(cx),
            Socket::Tls(it) => Pin::new(it).poll_flush(cx),
            Socket::Unix(it) => Pin::new(it).poll_flush(cx),
            Socket::InProcess(it) => Pin::new(it).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.socket {
            Socket::Tcp(it) => Pin::new(it).poll_shutdown(cx),
            Socket::Tls(it) => Pin::new(it).poll_shutdown(cx),
            Socket::Unix(it) => Pin::new(it).poll_shutdown(cx),
            Socket::InProcess(it) => Pin::new(it).poll_shutdown(cx),
        }
    }
}
