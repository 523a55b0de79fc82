//! [I/O] One HTTP/1.1 connection. It runs in the task of the request, so that a token causes no task switch, and its bytes are not copied.

mod codec;

use std::{
    cell::RefCell,
    future::poll_fn,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, Bytes, buf::Chain};
use http::Request;
use tokio::{
    io::{AsyncRead as _, AsyncWrite as _, ReadBuf},
    task::coop::unconstrained,
};

use super::{
    response::{Broken, Head, Malformed, Reach, SendFailure},
    socket::{IoTimestamps, Socket, TimestampedSocket},
};
use clock::Clock;
use codec::{Body, Start};

/// Maximum bytes per read: enough for hundreds of events, but few enough to stay in the cache of a CPU core.
const READ_SIZE: usize = 64 << 10;

thread_local! {
    /// Shared by all connections of a thread. This is possible because the bytes of a read are processed before the next read.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_SIZE]);
}

pub(super) struct Http1 {
    socket: TimestampedSocket,
    timestamps: Arc<IoTimestamps>,
    /// The part of the request that has not been sent.
    outgoing: Chain<Bytes, Bytes>,
    /// Bytes of the body that arrived in the same read as the head.
    rest: Vec<u8>,
    body: Body,
    /// Whether the exchanges so far allow another request on this connection.
    sound: bool,
}

impl Http1 {
    pub(super) fn new(socket: Socket, clock: Clock) -> Http1 {
        let (socket, timestamps) = TimestampedSocket::new(socket, clock);
        let nothing = Bytes::new().chain(Bytes::new());
        Http1 { socket, timestamps, outgoing: nothing, rest: Vec::new(), body: Body::Sized(0), sound: true }
    }

    /// The timestamps of the socket.
    pub(super) fn timestamps(&self) -> &Arc<IoTimestamps> {
        &self.timestamps
    }

    /// Whether the connection has carried a response, or a part of one.
    pub(super) fn was_used(&self) -> bool {
        self.timestamps.last_read().1 > 0
    }

    /// Whether the connection can carry a request: the last response has ended properly, and the client has not seen the server close it.
    pub(super) async fn is_open(&mut self) -> bool {
        if !(self.sound && self.body.has_ended() && self.rest.is_empty() && !self.outgoing.has_remaining()) {
            return false;
        }
        // Bytes that no request has caused make the connection unusable, as a close does. The read runs outside Tokio's coop budget: if the
        // caller had used up the budget, the read would report no bytes.
        unconstrained(poll_fn(|cx| Poll::Ready(self.poll_read(cx, |_, _| ()).is_pending()))).await
    }

    /// Sends a request and waits for the response headers.
    pub(super) async fn send(&mut self, request: &Request<Bytes>) -> Result<Head, SendFailure> {
        self.timestamps.reset();
        let reads = self.timestamps.last_read().1;
        self.outgoing = Bytes::from(codec::write_head(request)).chain(request.body().clone());
        let mut head = Vec::new();
        let start = poll_fn(|cx| {
            self.poll_write(cx);
            loop {
                let start = ready!(self.poll_read(cx, |connection, bytes| connection.take_head(&mut head, bytes)))??;
                if let Some(start) = start {
                    return Poll::Ready(Ok::<_, Broken>(start));
                }
            }
        });
        let Start { head, body, keep_alive, .. } = start.await.map_err(|error| {
            self.sound = false;
            let untouched = self.timestamps.last_read().1 == reads;
            SendFailure { error, reach: if untouched { Reach::Untouched } else { Reach::Answered } }
        })?;
        (self.body, self.sound) = (body, self.sound && keep_alive);
        Ok(head)
    }

    /// Waits for the next bytes of the body. Calls `take` with each piece, its arrival time and the number of its read. Returns `false`
    /// when the body has ended.
    pub(super) async fn next(&mut self, mut take: impl FnMut(&[u8], Duration, u64)) -> Result<bool, Broken> {
        let more = poll_fn(|cx| {
            self.poll_write(cx);
            if !self.rest.is_empty() {
                let rest = std::mem::take(&mut self.rest);
                return Poll::Ready(self.take_body(&rest, &mut take));
            }
            if self.body.has_ended() {
                return Poll::Ready(Ok(false));
            }
            match ready!(self.poll_read(cx, |connection, bytes| connection.take_body(bytes, &mut take))) {
                Ok(taken) => Poll::Ready(taken),
                Err(Broken::Closed) if self.body.ends_with_connection() => Poll::Ready(Ok(false)),
                Err(error) => Poll::Ready(Err(error)),
            }
        });
        more.await.inspect_err(|_| self.sound = false)
    }

    /// Parses the head from the bytes of a read. `head` holds the part that arrived in earlier reads. It is nearly always empty, and the
    /// bytes are then parsed without a copy.
    fn take_head(&mut self, head: &mut Vec<u8>, bytes: &[u8]) -> Result<Option<Start>, Malformed> {
        let first = head.is_empty();
        if !first {
            head.extend_from_slice(bytes);
        }
        let bytes_so_far = if first { bytes } else { &*head };
        let start = codec::read_head(bytes_so_far)?;
        match &start {
            Some(start) => self.rest = bytes_so_far[start.length..].to_vec(),
            None if first => head.extend_from_slice(bytes),
            None => {}
        }
        Ok(start)
    }

    fn take_body(&mut self, bytes: &[u8], take: &mut impl FnMut(&[u8], Duration, u64)) -> Result<bool, Broken> {
        let (at, read) = self.timestamps.last_read();
        let taken = self.body.push(bytes, |piece| take(piece, at, read))?;
        // Bytes after the end of the body do not belong to any response.
        self.sound &= taken == bytes.len();
        Ok(!self.body.has_ended())
    }

    /// Reads once and calls `take` with the bytes. `take` is never called with an empty slice.
    fn poll_read<T>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&mut Http1, &[u8]) -> T,
    ) -> Poll<Result<T, Broken>> {
        BUFFER.with_borrow_mut(|buffer| {
            let mut buffer = ReadBuf::new(buffer);
            ready!(Pin::new(&mut self.socket).poll_read(cx, &mut buffer)).map_err(Broken::Socket)?;
            match buffer.filled() {
                [] => Poll::Ready(Err(Broken::Closed)),
                bytes => Poll::Ready(Ok(take(self, bytes))),
            }
        })
    }

    /// Sends as much as possible. Write errors are ignored, because the following read reports them. A server may also respond and close
    /// before it has read the whole request, and that response is valid.
    fn poll_write(&mut self, cx: &mut Context<'_>) {
        while self.outgoing.has_remaining() {
            let mut pieces = [io::IoSlice::new(&[]); 2];
            let count = self.outgoing.chunks_vectored(&mut pieces);
            match Pin::new(&mut self.socket).poll_write_vectored(cx, &pieces[..count]) {
                Poll::Pending => return,
                Poll::Ready(Ok(length)) if length > 0 => self.outgoing.advance(length),
                Poll::Ready(_) => {
                    self.sound = false;
                    self.outgoing.advance(self.outgoing.remaining());
                }
            }
            if !self.outgoing.has_remaining() {
                self.timestamps.record_written();
                self.outgoing = Bytes::new().chain(Bytes::new());
            }
        }
        // Flushes a socket with a buffer, such as TLS. The following read reports an error of the flush too.
        let _ = Pin::new(&mut self.socket).poll_flush(cx);
    }
}
