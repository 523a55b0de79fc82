//! HTTP/1.1 for a client that sends a request and reads the response while it arrives. Pure: converts bytes, in pieces of any size, to a
//! head (status line and headers) and pieces of the body.
//!
//! Hand-written because this code runs between the arrival of a token and its timestamp: a piece of a body is not copied, queued or
//! buffered. `httparse` parses the heads. Deliberately absent: upgrades, pipelining, and transfer codings other than chunked. Trailers and
//! chunk extensions are ignored.

use std::io::Write as _;

use bytes::Bytes;
use http::{
    Request,
    header::{CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, SERVER, TRANSFER_ENCODING},
};

use crate::client::response::{Head, Malformed};

/// Maximum length of a response head, in bytes. No legitimate server sends more.
const MAX_HEAD: usize = 64 << 10;
/// Maximum number of header fields.
const MAX_FIELDS: usize = 128;
/// Maximum length of a chunk size line, and of the trailer section, in bytes.
const MAX_FRAMING: usize = 16 << 10;
/// Maximum hexadecimal digits of a chunk size: as many as a 64-bit number has.
const MAX_DIGITS: u8 = 16;

/// Serializes the head of a request.
pub(super) fn write_head(request: &Request<Bytes>) -> Vec<u8> {
    let mut head = Vec::with_capacity(512);
    head.extend_from_slice(request.method().as_str().as_bytes());
    head.push(b' ');
    head.extend_from_slice(request.uri().path().as_bytes());
    head.extend_from_slice(b" HTTP/1.1\r\n");
    for (name, value) in request.headers() {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    write!(head, "content-length: {}\r\n\r\n", request.body().len()).expect("a Vec takes everything");
    head
}

/// The head of a response, and the framing of its body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) head: Head,
    pub(super) body: Body,
    /// Whether the connection may carry another request after the body.
    pub(super) keep_alive: bool,
    /// Length of the head, in bytes.
    pub(super) length: usize,
}

/// Parses the head of a response, and skips interim (1xx) responses. Returns `None` while the head is incomplete.
///
/// # Errors
/// The bytes are not a head, the head is too long, or it contradicts itself about the framing of the body.
pub(super) fn read_head(bytes: &[u8]) -> Result<Option<Start>, Malformed> {
    let mut passed = 0;
    loop {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        let parsed = response.parse(&bytes[passed..]).map_err(|_| Malformed("the answer is no HTTP"))?;
        let httparse::Status::Complete(length) = parsed else {
            let fits = bytes.len() <= MAX_HEAD;
            return if fits { Ok(None) } else { Err(Malformed("the head of the answer is longer than 64 KiB")) };
        };
        passed += length;
        let status = response.code.unwrap_or_default();
        if (100..200).contains(&status) && status != 101 {
            continue;
        }
        let start = Fields::read(response.headers)?.start(status, response.version == Some(1), passed)?;
        return Ok(Some(start));
    }
}

/// The header fields that the client evaluates.
#[derive(Default)]
struct Fields {
    content_type: Option<String>,
    content_encoding: Option<String>,
    server: Option<Box<str>>,
    length: Option<u64>,
    /// Whether `chunked` is the last transfer coding; `None` if there is no transfer coding.
    chunked: Option<bool>,
    close: bool,
    keep_alive: bool,
}

impl Fields {
    fn read(fields: &[httparse::Header<'_>]) -> Result<Fields, Malformed> {
        let mut read = Fields::default();
        for field in fields {
            let is = |name: http::HeaderName| field.name.eq_ignore_ascii_case(name.as_str());
            let value = field.value.trim_ascii();
            if is(CONTENT_LENGTH) {
                let length = decimal(value).ok_or(Malformed("the answer's content-length is no number"))?;
                if read.length.replace(length).is_some_and(|it| it != length) {
                    return Err(Malformed("the answer has two different content-length headers"));
                }
            } else if is(TRANSFER_ENCODING) {
                read.chunked = Some(last_token(value).eq_ignore_ascii_case(b"chunked"));
            } else if is(CONNECTION) {
                for token in value.split(|it| *it == b',').map(<[u8]>::trim_ascii) {
                    read.close |= token.eq_ignore_ascii_case(b"close");
                    read.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
                }
            } else if is(CONTENT_TYPE) {
                read.content_type = Some(String::from_utf8_lossy(value).into_owned());
            } else if is(CONTENT_ENCODING) {
                read.content_encoding = Some(String::from_utf8_lossy(value).into_owned());
            } else if is(SERVER) {
                read.server = Some(String::from_utf8_lossy(value).into());
            }
        }
        Ok(read)
    }

    /// RFC 9112, section 6.3: a transfer coding overrides a length. Without either, the body ends when the connection is closed.
    fn start(self, status: u16, version_1_1: bool, length: usize) -> Result<Start, Malformed> {
        if status == 101 {
            return Err(Malformed("the server switches to a protocol that was not requested"));
        }
        let body = match (status, self.chunked, self.length) {
            (204 | 304, _, _) => Body::Sized(0),
            (_, Some(true), _) => Body::Chunked(Chunked::default()),
            (_, Some(false), _) | (_, None, None) => Body::UntilClose,
            (_, None, Some(length)) => Body::Sized(length),
        };
        let persistent = if version_1_1 { !self.close } else { self.keep_alive && !self.close };
        // A response with two kinds of framing can be request smuggling, so bytes after such a response cannot be trusted.
        let keep_alive = persistent && body != Body::UntilClose && !(self.chunked.is_some() && self.length.is_some());
        let Fields { content_type, content_encoding, server, .. } = self;
        Ok(Start { head: Head { status, content_type, content_encoding, server }, body, keep_alive, length })
    }
}

fn decimal(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(text).ok()?.parse().ok()).flatten()
}

fn last_token(value: &[u8]) -> &[u8] {
    value.rsplit(|it| *it == b',').next().unwrap_or(value).trim_ascii()
}

/// The framing state: how much of the body has not arrived.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body {
    Sized(u64),
    Chunked(Chunked),
    UntilClose,
}

impl Body {
    /// Takes bytes and calls `take` with each piece of body data in them. Returns how many of the bytes belong to the body. That is fewer than all
    /// bytes if the body ends before the last byte.
    ///
    /// # Errors
    /// The bytes violate the chunked coding.
    pub(super) fn push(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) -> Result<usize, Malformed> {
        match self {
            Body::Sized(left) => {
                let length = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                *left -= length as u64;
                if length > 0 {
                    take(&bytes[..length]);
                }
                Ok(length)
            }
            Body::Chunked(chunked) => chunked.push(bytes, take),
            Body::UntilClose => {
                take(bytes);
                Ok(bytes.len())
            }
        }
    }

    /// Whether the framing shows that the body has ended.
    pub(super) fn has_ended(&self) -> bool {
        match self {
            Body::Sized(left) => *left == 0,
            Body::Chunked(chunked) => chunked.part == Part::End,
            Body::UntilClose => false,
        }
    }

    pub(super) fn ends_with_connection(&self) -> bool {
        *self == Body::UntilClose
    }
}

/// The position of the next byte in the chunked coding.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Chunked {
    part: Part,
    /// Bytes of framing since the last data. They are counted to limit the length of lines.
    framing: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// In the digits of a chunk size.
    Size {
        size: u64,
        digits: u8,
    },
    /// After the digits, before the end of the line.
    Extension {
        size: u64,
    },
    /// In the data of a chunk; `left` bytes, more than 0, are missing.
    Data {
        left: u64,
    },
    /// After the data of a chunk: CR or LF is expected.
    DataEnd,
    /// In the trailers.
    Trailer {
        line_start: bool,
    },
    End,
}

impl Default for Part {
    fn default() -> Self {
        Part::Size { size: 0, digits: 0 }
    }
}

impl Chunked {
    fn push(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) -> Result<usize, Malformed> {
        let mut at = 0;
        while at < bytes.len() && self.part != Part::End {
            if let Part::Data { left } = self.part {
                let rest = &bytes[at..];
                let length = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
                take(&rest[..length]);
                at += length;
                self.framing = 0;
                let left = left - length as u64;
                self.part = if left == 0 { Part::DataEnd } else { Part::Data { left } };
                continue;
            }
            self.framing += 1;
            if self.framing > MAX_FRAMING {
                return Err(Malformed("the answer's chunks have lines without an end"));
            }
            self.part = self.part.after(bytes[at])?;
            at += 1;
        }
        Ok(at)
    }
}

impl Part {
    /// Returns the next part after a byte of framing.
    fn after(self, byte: u8) -> Result<Part, Malformed> {
        const BAD_SIZE: Malformed = Malformed("a chunk of the answer has no size");
        Ok(match (self, byte) {
            (Part::Size { size, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if digits == MAX_DIGITS {
                    return Err(BAD_SIZE);
                }
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                Part::Size { size: size << 4 | u64::from(digit), digits: digits + 1 }
            }
            (Part::Size { digits: 0, .. }, _) => return Err(BAD_SIZE),
            (Part::Size { size, .. } | Part::Extension { size }, b'\n') => match size {
                0 => Part::Trailer { line_start: true },
                left => Part::Data { left },
            },
            (Part::Size { size, .. }, b'\r' | b';' | b' ' | b'\t') | (Part::Extension { size }, _) => {
                Part::Extension { size }
            }
            (Part::Size { .. }, _) => return Err(BAD_SIZE),
            (Part::DataEnd, b'\n') => Part::default(),
            (Part::DataEnd, b'\r') => Part::DataEnd,
            (Part::DataEnd, _) => return Err(Malformed("a chunk of the answer is longer than its size")),
            (Part::Trailer { line_start: true }, b'\n') => Part::End,
            (Part::Trailer { line_start }, b'\r') => Part::Trailer { line_start },
            (Part::Trailer { .. }, byte) => Part::Trailer { line_start: byte == b'\n' },
            // These parts contain no framing bytes; `push` handles them.
            (Part::Data { .. } | Part::End, _) => self,
        })
    }
}

#[cfg(test)]
mod tests;
