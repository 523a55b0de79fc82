//! [I/O] One place for a request on the way to the target: a whole HTTP/1.1 connection, or a stream of an HTTP/2 one.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::Request;

use super::{
    http1::Http1,
    http2::Http2Stream,
    response::{Broken, Head, SendFailure},
    socket::IoTimestamps,
};

/// An open connection, or a part of one.
pub(super) enum Connection {
    Http1(Http1),
    Http2(Http2Stream),
}

impl Connection {
    /// When the request left.
    pub(super) fn timestamps(&self) -> &Arc<IoTimestamps> {
        match self {
            Connection::Http1(it) => it.timestamps(),
            Connection::Http2(it) => it.timestamps(),
        }
    }

    /// When bytes last arrived, and the how many-th read that was.
    pub(super) fn last_read(&self) -> (Duration, u64) {
        match self {
            Connection::Http1(it) => it.timestamps().last_read(),
            Connection::Http2(it) => it.last_read(),
        }
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(&mut self, request: &Request<Bytes>) -> Result<Head, SendFailure> {
        match self {
            Connection::Http1(it) => it.send(request).await,
            Connection::Http2(it) => it.send(request).await,
        }
    }

    /// Waits for the next bytes of the body and calls `take` with each piece of them, their time, and the how many-th read
    /// they came with; `false` when the body has ended with them.
    pub(super) async fn next(&mut self, take: impl FnMut(&[u8], Duration, u64)) -> Result<bool, Broken> {
        match self {
            Connection::Http1(it) => it.next(take).await,
            Connection::Http2(it) => it.next(take).await,
        }
    }
}
