//! [I/O] Carries one request: an HTTP/1.1 connection, or one stream of an HTTP/2 connection.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::Request;

use super::{
    http1::Http1,
    http2::Http2Stream,
    response::{Broken, Head, SendFailure},
    socket::IoTimestamps,
};

pub(super) enum Connection {
    Http1(Http1),
    Http2(Http2Stream),
}

impl Connection {
    /// The timestamps of the current request.
    pub(super) fn timestamps(&self) -> &Arc<IoTimestamps> {
        match self {
            Connection::Http1(it) => it.timestamps(),
            Connection::Http2(it) => it.timestamps(),
        }
    }

    /// Whether this is an HTTP/1.1 connection that has carried an answer.
    pub(super) fn was_used(&self) -> bool {
        matches!(self, Connection::Http1(it) if it.was_used())
    }

    /// The timestamps of the connection's reads. The streams of an HTTP/2 connection share them.
    pub(super) fn reads(&self) -> &Arc<IoTimestamps> {
        match self {
            Connection::Http1(it) => it.timestamps(),
            Connection::Http2(it) => it.reads(),
        }
    }

    /// Returns when bytes last arrived, and the number of the read that returned them.
    pub(super) fn last_read(&self) -> (Duration, u64) {
        self.reads().last_read()
    }

    /// Sends a request and waits for the response headers.
    pub(super) async fn send(&mut self, request: &Request<Bytes>) -> Result<Head, SendFailure> {
        match self {
            Connection::Http1(it) => it.send(request).await,
            Connection::Http2(it) => it.send(request).await,
        }
    }

    /// Waits for the next bytes of the body. Calls `take` with each piece, its arrival time and the number of its read. Returns `false`
    /// when the body has ended.
    pub(super) async fn next(&mut self, take: impl FnMut(&[u8], Duration, u64)) -> Result<bool, Broken> {
        match self {
            Connection::Http1(it) => it.next(take).await,
            Connection::Http2(it) => it.next(take).await,
        }
    }
}
