//! [I/O] One place for a request on the way to the target: a whole HTTP/1.1 connection, or a stream of an HTTP/2 one.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::Request;

use super::{
    http1::{Http1, Malformed},
    http2::Http2,
    socket::Marks,
};
use crate::record::Cause;

/// An open connection, or a part of one.
pub(super) enum Connection {
    Http1(Http1),
    Http2(Http2),
}

/// The head of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    pub(super) content_encoding: Option<String>,
}

/// Why an answer does not come, or does not come to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// The server ended the connection.
    #[error("the server closed it")]
    Closed,
    /// The socket failed.
    #[error(transparent)]
    Socket(std::io::Error),
    /// What came is no answer.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// HTTP/2's own reasons.
    #[error(transparent)]
    Http2(#[from] h2::Error),
    /// A new connection on which HTTP/2 could not be spoken.
    #[error("{0}; if the server speaks no HTTP/2, set target.httpVersion to HTTP1")]
    NoHttp2(h2::Error),
}

/// Why no head came.
#[derive(Debug)]
pub(super) struct SendFailure {
    pub(super) error: Broken,
    pub(super) reach: Reach,
}

/// How far a request came that got no head of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Not a byte of it left: the connection takes no request any more.
    Unsent,
    /// Nothing of an answer came: the server may never have looked at it.
    Untouched,
    /// The server may have worked on it.
    Unknown,
    /// A part of a head came.
    Answered,
}

impl Broken {
    /// Why a connection brought no answer.
    pub(super) fn cause(&self) -> Cause {
        match self {
            Broken::Closed => Cause::Closed,
            Broken::Socket(error) => Cause::of_io(error),
            Broken::Malformed(_) => Cause::Other,
            Broken::Http2(_) | Broken::NoHttp2(_) => Cause::Http2,
        }
    }
}

impl Connection {
    /// When the request left.
    pub(super) fn marks(&self) -> &Arc<Marks> {
        match self {
            Connection::Http1(it) => it.marks(),
            Connection::Http2(it) => it.marks(),
        }
    }

    /// When bytes last arrived, and the how many-th read that was.
    pub(super) fn last_read(&self) -> (Duration, u64) {
        match self {
            Connection::Http1(it) => it.marks().last_read(),
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
