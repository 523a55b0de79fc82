//! What a connection brings back: the head of an answer, or why there is none. Pure.
//!
//! HTTP/1 and HTTP/2 both return these types, and neither depends on the other or on the connection above them.

use crate::record::Cause;

/// The head of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    pub(super) content_encoding: Option<String>,
}

/// Bytes that no answer of HTTP/1 can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Malformed(pub(super) &'static str);

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
    NotSent,
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
            Broken::Socket(error) => Cause::from_io(error),
            Broken::Malformed(_) => Cause::Other,
            Broken::Http2(_) | Broken::NoHttp2(_) => Cause::Http2,
        }
    }
}
