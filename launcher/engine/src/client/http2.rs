//! [I/O] A stream of an HTTP/2 connection, with `h2`. The streams of a connection share its socket, which a separate task drives.
//!
//! Limits of the measurement: bytes of a stream get the time of the connection's last read. A request counts as sent when it is handed to
//! the connection, which is one turn of the runtime before its bytes are written.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use h2::{
    Ping, RecvStream,
    client::{self, SendRequest},
};
use http::{
    HeaderValue, Request, Uri,
    header::{CONTENT_ENCODING, CONTENT_TYPE, SERVER},
    uri::Scheme,
};

use super::{
    response::{Broken, Head, Reach, SendFailure},
    socket::{IoTimestamps, Socket, TimestampedSocket},
};
use clock::Clock;

/// Maximum requests in flight per connection. It is the usual limit of servers, and low enough that requests do not wait for each other's
/// bytes.
const STREAMS: usize = 100;
/// Flow-control windows, in bytes. They exceed the data that a token stream sends between two reads, so flow control delays no token.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 64 << 20;

/// An HTTP/2 connection, which carries several concurrent requests.
pub(super) struct Http2Connection {
    sender: SendRequest<Bytes>,
    shared: Arc<Shared>,
    scheme: Scheme,
    clock: Clock,
}

struct Shared {
    timestamps: Arc<IoTimestamps>,
    /// Number of streams in use.
    taken: AtomicUsize,
    open: AtomicBool,
}

/// An HTTP/2 stream, which carries one request.
pub(super) struct Http2Stream {
    sender: SendRequest<Bytes>,
    slot: StreamSlot,
    /// When the request of this stream was sent. The arrival times of bytes are in the connection's timestamps.
    timestamps: Arc<IoTimestamps>,
    scheme: Scheme,
    body: Option<RecvStream>,
}

/// Counts a stream as in use until dropped.
struct StreamSlot(Arc<Shared>);

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Http2Connection {
    /// Starts HTTP/2 on a new socket, and waits until the server has announced its maximum number of concurrent streams.
    ///
    /// # Errors
    /// The server does not speak HTTP/2.
    pub(super) async fn new(socket: Socket, clock: Clock) -> Result<Http2Connection, Broken> {
        let scheme = if matches!(socket, Socket::Tls(_)) { Scheme::HTTPS } else { Scheme::HTTP };
        let (socket, timestamps) = TimestampedSocket::new(socket, clock);
        let mut builder = client::Builder::new();
        builder.initial_window_size(STREAM_WINDOW).initial_connection_window_size(CONNECTION_WINDOW).enable_push(false);
        let (sender, mut connection) = builder.handshake(socket).await.map_err(Broken::NoHttp2)?;
        let shared = Arc::new(Shared { timestamps, taken: AtomicUsize::new(0), open: AtomicBool::new(true) });
        let driven = Arc::clone(&shared);
        let ping = connection.ping_pong();
        tokio::spawn(async move {
            // The error is ignored here, because each stream in flight receives it too.
            let _ = connection.await;
            driven.open.store(false, Ordering::Relaxed);
        });
        if let Some(mut ping) = ping {
            // A server sends its settings before it answers this ping, so they are known after the answer.
            ping.ping(Ping::opaque()).await.map_err(Broken::NoHttp2)?;
        }
        Ok(Http2Connection { sender, shared, scheme, clock })
    }

    /// Whether the connection is open. Returns `false` once the client has seen it end.
    pub(super) fn is_open(&self) -> bool {
        self.shared.open.load(Ordering::Relaxed)
    }

    pub(super) fn free_streams(&self) -> usize {
        let allowed = if self.is_open() { self.sender.current_max_send_streams().min(STREAMS) } else { 0 };
        allowed.saturating_sub(self.shared.taken.load(Ordering::Relaxed))
    }

    /// Begins a stream; `None` if no stream is free.
    pub(super) fn open_stream(&self) -> Option<Http2Stream> {
        (self.free_streams() > 0).then(|| {
            self.shared.taken.fetch_add(1, Ordering::Relaxed);
            Http2Stream {
                sender: self.sender.clone(),
                slot: StreamSlot(Arc::clone(&self.shared)),
                timestamps: IoTimestamps::new(self.clock),
                scheme: self.scheme.clone(),
                body: None,
            }
        })
    }
}

impl Http2Stream {
    /// The timestamps with the send time of the request.
    pub(super) fn timestamps(&self) -> &Arc<IoTimestamps> {
        &self.timestamps
    }

    /// The timestamps of the connection. Its streams share its reads.
    pub(super) fn reads(&self) -> &Arc<IoTimestamps> {
        &self.slot.0.timestamps
    }

    pub(super) async fn send(&mut self, request: &Request<Bytes>) -> Result<Head, SendFailure> {
        poll_fn(|cx| self.sender.poll_ready(cx)).await.map_err(|error| {
            // The connection accepts no more streams, and closes when its current streams have ended.
            self.slot.0.open.store(false, Ordering::Relaxed);
            SendFailure { error: error.into(), reach: Reach::NotSent }
        })?;
        let answer = async {
            self.timestamps.record_write();
            let (head, mut body) = self.sender.send_request(with_authority(request, &self.scheme), false)?;
            body.send_data(request.body().clone(), true)?;
            self.timestamps.record_written();
            head.await
        };
        let (head, body) = answer.await.map_err(SendFailure::from_http2)?.into_parts();
        self.body = Some(body);
        let field = |name| head.headers.get(name).and_then(|it| it.to_str().ok()).map(str::to_owned);
        let (content_type, content_encoding) = (field(CONTENT_TYPE), field(CONTENT_ENCODING));
        let server = field(SERVER).map(Into::into);
        Ok(Head { status: head.status.as_u16(), content_type, content_encoding, server })
    }

    /// Waits for the next bytes of the body and calls `take` with them. Returns `false` when the body has ended.
    pub(super) async fn next(&mut self, mut take: impl FnMut(&[u8], Duration, u64)) -> Result<bool, Broken> {
        let Some(body) = &mut self.body else { return Ok(false) };
        let Some(bytes) = body.data().await.transpose()? else {
            self.body = None;
            return Ok(false);
        };
        let (at, read) = self.slot.0.timestamps.last_read();
        take(&bytes, at, read);
        body.flow_control().release_capacity(bytes.len())?;
        Ok(true)
    }
}

impl SendFailure {
    /// Converts an error. A server may report that it did not process the request; a connection that merely ends reports nothing.
    fn from_http2(error: h2::Error) -> SendFailure {
        let refused = error.is_remote() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        let untouched = refused || (error.is_remote() && error.is_go_away());
        SendFailure { reach: if untouched { Reach::Untouched } else { Reach::Unknown }, error: error.into() }
    }
}

/// Converts a request to HTTP/2, which carries the host in the URI and forbids header fields about the connection.
fn with_authority(request: &Request<Bytes>, scheme: &Scheme) -> Request<()> {
    let mut headers = request.headers().clone();
    let host = headers.remove(http::header::HOST);
    let mut uri = request.uri().clone().into_parts();
    uri.scheme = Some(scheme.clone());
    uri.authority = host.as_ref().and_then(|it| it.to_str().ok()?.parse().ok());
    let uri = if uri.authority.is_some() { Uri::from_parts(uri).ok() } else { None };
    for name in ["connection", "keep-alive", "proxy-connection", "upgrade"] {
        headers.remove(name);
    }
    headers.insert(http::header::CONTENT_LENGTH, HeaderValue::from(request.body().len()));
    let mut sent = Request::new(());
    *sent.method_mut() = request.method().clone();
    *sent.uri_mut() = uri.unwrap_or_else(|| request.uri().clone());
    *sent.headers_mut() = headers;
    sent
}
