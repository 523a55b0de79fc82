//! [I/O] A stream of an HTTP/2 connection, by `h2`. The streams of a connection share its socket, which a task of its own
//! drives.
//!
//! What that costs a measurement: bytes have the time of the connection's last read when their stream gets to see them, and
//! a request counts as sent when it is handed to the connection, a turn of the runtime before its bytes leave.

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
    RecvStream,
    client::{self, SendRequest},
};
use http::{HeaderValue, Request, Uri, header::CONTENT_TYPE, uri::Scheme};

use super::{
    connection::{Broken, Head, SendFailure},
    socket::{Marked, Marks, Socket},
};
use crate::clock::Clock;

/// Requests under way on one connection: what servers usually allow, and few enough not to wait for one another's bytes.
const STREAMS: usize = 100;
/// Windows that no stream of tokens fills before it is read, so that flow control delays none.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 64 << 20;

/// What the streams of a connection share.
struct Shared {
    marks: Arc<Marks>,
    /// Requests under way.
    active: AtomicUsize,
    open: AtomicBool,
    /// Whether an answer has ever begun.
    answered: AtomicBool,
}

/// A place for one request at a time.
pub(super) struct Http2 {
    sender: SendRequest<Bytes>,
    shared: Arc<Shared>,
    /// When this place's request left; what arrived is told by the marks of the connection.
    marks: Arc<Marks>,
    scheme: Scheme,
    answer: Option<Answer>,
}

/// An answer under way.
struct Answer {
    body: RecvStream,
    _active: Active,
}

/// Counts a request while it is under way.
struct Active(Arc<Shared>);

impl Active {
    fn new(shared: &Arc<Shared>) -> Active {
        shared.active.fetch_add(1, Ordering::Relaxed);
        Active(Arc::clone(shared))
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Http2 {
    /// Speaks HTTP/2 on a new socket: the places of one connection.
    ///
    /// # Errors
    /// The server does not speak it.
    pub(super) async fn connect(socket: Socket, clock: Clock) -> Result<Vec<Http2>, Broken> {
        let scheme = if matches!(socket, Socket::Tls(_)) { Scheme::HTTPS } else { Scheme::HTTP };
        let (socket, marks) = Marked::new(socket, clock);
        let mut builder = client::Builder::new();
        builder.initial_window_size(STREAM_WINDOW).initial_connection_window_size(CONNECTION_WINDOW).enable_push(false);
        let (sender, connection) = builder.handshake(socket).await?;
        let shared = Arc::new(Shared {
            marks,
            active: AtomicUsize::new(0),
            open: AtomicBool::new(true),
            answered: AtomicBool::new(false),
        });
        let driven = Arc::clone(&shared);
        tokio::spawn(async move {
            // Its error is also that of the streams under way.
            let _ = connection.await;
            driven.open.store(false, Ordering::Relaxed);
        });
        let place = || Http2 {
            sender: sender.clone(),
            shared: Arc::clone(&shared),
            marks: Marks::new(clock),
            scheme: scheme.clone(),
            answer: None,
        };
        Ok((0..STREAMS).map(|_| place()).collect())
    }

    /// When the request left.
    pub(super) fn marks(&self) -> &Arc<Marks> {
        &self.marks
    }

    /// When bytes last arrived on the connection, and the how many-th read that was.
    pub(super) fn last_read(&self) -> (Duration, u64) {
        self.shared.marks.last_read()
    }

    /// Whether it can take a request: the connection stands, and the server allows one more at a time.
    pub(super) fn is_open(&mut self) -> bool {
        self.answer = None;
        let allowed = self.sender.current_max_send_streams();
        self.shared.open.load(Ordering::Relaxed) && self.shared.active.load(Ordering::Relaxed) < allowed
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(&mut self, request: &Request<Bytes>) -> Result<Head, SendFailure> {
        let active = Active::new(&self.shared);
        self.marks.reset();
        let answer = async {
            poll_fn(|cx| self.sender.poll_ready(cx)).await?;
            self.marks.wrote();
            let (head, mut body) = self.sender.send_request(with_authority(request, &self.scheme), false)?;
            body.send_data(request.body().clone(), true)?;
            head.await
        };
        let failed = |error: h2::Error| {
            let untouched = error.is_go_away() || error.is_io() || error.reason() == Some(h2::Reason::REFUSED_STREAM);
            let spoken = error.is_reset() || self.shared.answered.load(Ordering::Relaxed);
            let error = if spoken { Broken::Http2(error) } else { Broken::NoHttp2(error) };
            SendFailure { error, untouched }
        };
        let (head, body) = answer.await.map_err(failed)?.into_parts();
        self.shared.answered.store(true, Ordering::Relaxed);
        self.answer = Some(Answer { body, _active: active });
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).map(str::to_owned);
        Ok(Head { status: head.status.as_u16(), content_type })
    }

    /// Waits for the next bytes of the body and hands them out; `false` when the body has ended with them.
    pub(super) async fn next(&mut self, mut take: impl FnMut(&[u8], Duration, u64)) -> Result<bool, Broken> {
        let Some(Answer { body, .. }) = &mut self.answer else { return Ok(false) };
        let Some(bytes) = body.data().await.transpose()? else {
            self.answer = None;
            return Ok(false);
        };
        let (at, read) = self.shared.marks.last_read();
        take(&bytes, at, read);
        body.flow_control().release_capacity(bytes.len())?;
        Ok(true)
    }
}

/// HTTP/2 carries the host in the URI, and knows no fields that concern the connection.
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
