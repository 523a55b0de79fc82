//! Types for the outcome of an HTTP exchange: the response head, or why there is none. Pure.
//!
//! HTTP/1 and HTTP/2 both return these types, so neither depends on the other or on the connection above them.

use measurement::record::Cause;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    pub(super) content_encoding: Option<String>,
    /// The response header `server`. Boxed, because every request in flight stores it.
    pub(super) server: Option<Box<str>>,
}

/// Bytes that are not a valid HTTP/1 response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Malformed(pub(super) &'static str);

/// The reason why a response is missing or incomplete.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// The server closed the connection.
    #[error("the server closed it")]
    Closed,
    #[error(transparent)]
    Socket(std::io::Error),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("{}", http2_words(.0))]
    Http2(#[from] h2::Error),
    /// HTTP/2 was requested, but the connection does not support it.
    #[error("{}; if the server speaks no HTTP/2, set target.httpVersion to HTTP1", http2_words(.0))]
    NoHttp2(h2::Error),
}

/// Describes an HTTP/2 error by its name in RFC 9113 and by the side that reported it.
fn http2_words(error: &h2::Error) -> String {
    let Some(reason) = error.reason() else { return error.to_string() };
    if error.is_library() {
        format!("the server broke a rule of HTTP/2 ({reason:?})")
    } else if error.is_go_away() {
        format!("the server closed the connection with {reason:?} (HTTP/2)")
    } else {
        format!("the server ended the stream with {reason:?} (HTTP/2)")
    }
}

#[derive(Debug)]
pub(super) struct SendFailure {
    pub(super) error: Broken,
    pub(super) reach: Reach,
}

/// How far a request without a response head came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// No byte was sent, because the connection accepts no more requests.
    NotSent,
    /// No byte of a response arrived. The server may not have seen the request.
    Untouched,
    /// The server might have processed the request.
    Unknown,
    /// A part of the response head arrived.
    Answered,
}

impl Broken {
    /// Classifies why a connection returned no response.
    pub(super) fn cause(&self) -> Cause {
        match self {
            Broken::Closed => Cause::Closed,
            Broken::Socket(error) => Cause::from_io(error),
            Broken::Malformed(_) => Cause::Other,
            Broken::Http2(_) | Broken::NoHttp2(_) => Cause::Http2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_http2_has_its_name() {
        let error = Broken::from(h2::Error::from(h2::Reason::ENHANCE_YOUR_CALM)).to_string();
        assert_eq!(error, "the server ended the stream with ENHANCE_YOUR_CALM (HTTP/2)");
    }
}
