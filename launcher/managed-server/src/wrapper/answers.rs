//! [I/O] Serves the state of an engine over HTTP, read-only: `/log`, `/start`, `/traces` and `/traces/NAME`. If the server has a bearer token,
//! requests must contain it.

use std::{
    convert::Infallible,
    fs::File,
    io::{self, Read},
    net::{Ipv4Addr, Ipv6Addr},
    path::Path,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    thread,
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use hyper::{
    body::{Body, Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, mpsc},
};
use tokio_io_timeout::TimeoutStream;

use super::{State, traces};
use crate::log::SoFar;

/// Maximum number of concurrent requests. Limited because each can use a thread that reads a file.
const AT_A_TIME: usize = 8;
/// Time limit for reading one request.
const REQUEST: Duration = Duration::from_secs(10);
/// Time limit for the whole exchange.
const WHOLE: Duration = Duration::from_secs(1_800);
/// Maximum time in which a client reads nothing of its response. Without this limit, a few slow clients would block all others.
const NO_PROGRESS: Duration = Duration::from_secs(10);
/// Delay after a connection that could not be accepted.
const RETRY: Duration = Duration::from_secs(1);
/// Size in bytes of one read from a file.
const PART: usize = 64 << 10;
/// Number of such parts that can wait for a slow client.
const PARTS: usize = 4;

/// The path of the response about how the engine was started.
const START: &str = "/start";

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";

/// Serves on every address until the process ends. Must be called within the runtime.
///
/// # Errors
/// The port cannot be opened.
pub(super) fn serve(port: u16, state: &Arc<State>) -> io::Result<()> {
    // An IPv6 socket also accepts IPv4. If the machine does not support IPv6, an IPv4 socket is used.
    let listener = std::net::TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
        .or_else(|_| std::net::TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))?;
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    tokio::task::spawn(accept(listener, Arc::clone(state)));
    Ok(())
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let places = Arc::new(Semaphore::new(AT_A_TIME));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(RETRY).await;
            continue;
        };
        let state = Arc::clone(&state);
        let service = service_fn(move |request: Request<Incoming>| {
            let state = Arc::clone(&state);
            async move {
                if !state.admits(request.headers()) {
                    let message =
                        "the log of this server is for launchers of its runs; send the bearer token of the server\n";
                    return Ok(text(StatusCode::UNAUTHORIZED, message));
                }
                if request.uri().path() == START {
                    state.ready.look().await;
                }
                // The runtime has only one thread, which also forwards signals. So files are read on another thread.
                let answered =
                    tokio::task::spawn_blocking(move || answer(&state, request.method(), request.uri().path()));
                let failed = |_| {
                    text(StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be made; send the request again\n")
                };
                Ok::<_, Infallible>(answered.await.unwrap_or_else(failed))
            }
        });
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(NO_PROGRESS));
        tokio::task::spawn(async move {
            let served = http1::Builder::new()
                .keep_alive(false)
                .timer(TokioTimer::new())
                .header_read_timeout(REQUEST)
                .serve_connection(TokioIo::new(Box::pin(stream)), service);
            // It is no error if a client closes the connection early.
            let _ = clock::limit(WHOLE, served).await;
            drop(place);
        });
    }
}

impl State {
    /// Whether a request is allowed: it has the token of the server, or the server has no token.
    fn admits(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let sent = headers.get(AUTHORIZATION).and_then(|it| it.as_bytes().strip_prefix(b"Bearer "));
        sent.is_some_and(|it| is_equal(it, token.as_bytes()))
    }
}

/// Compares two texts. For texts of equal length, the time does not depend on where they differ.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |found, (one, other)| found | (one ^ other)) == 0
}

fn answer(state: &State, method: &Method, path: &str) -> Response<Parts> {
    if method != Method::GET {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered\n");
    }
    let found = match path {
        "/log" => log(state),
        START => state.start().map(|it| json(&it)),
        "/traces" => state.traces.as_deref().map(|it| json(&traces::list(it))),
        path => path.strip_prefix("/traces/").and_then(|it| trace(state.traces.as_deref()?, &decoded(it)?)),
    };
    found.unwrap_or_else(|| text(StatusCode::NOT_FOUND, "it is not here; see /log, /start and /traces\n"))
}

fn log(state: &State) -> Option<Response<Parts>> {
    let SoFar { in_file, rest } = state.so_far()?;
    let file = File::open(&state.path).ok()?;
    // If the disk was full, the file is shorter than the number of bytes that were written to it.
    let in_file = in_file.min(file.metadata().ok()?.len());
    let length = in_file + rest.len() as u64;
    Some(streamed(TEXT, file.take(in_file).chain(io::Cursor::new(rest)), length))
}

fn trace(folder: &Path, name: &str) -> Option<Response<Parts>> {
    let (file, length) = traces::open(folder, name).ok()?;
    Some(streamed(BYTES, file.take(length), length))
}

fn text(status: StatusCode, text: &'static str) -> Response<Parts> {
    let mut response = response(TEXT, Parts::from_bytes(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response
}

fn json(value: &impl serde::Serialize) -> Response<Parts> {
    response(JSON, Parts::from_bytes(serde_json::to_vec(value).unwrap_or_default().into()))
}

/// Reads on a separate thread, at the speed of the client.
fn streamed(kind: &'static str, mut from: impl Read + Send + 'static, length: u64) -> Response<Parts> {
    let (sender, parts) = mpsc::channel(PARTS);
    let body = move || {
        let mut left = length;
        while left > 0 {
            let mut part = vec![0; PART.min(usize::try_from(left).unwrap_or(PART))];
            let part = match from.read(&mut part) {
                // A file that ends too early is an error, so that the client notices that the response is incomplete.
                Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    left -= count as u64;
                    part.truncate(count);
                    Ok(Bytes::from(part))
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let ends = part.is_err();
            if sender.blocking_send(part).is_err() || ends {
                return;
            }
        }
    };
    // If no thread can be started, the response ends before its declared length.
    let _ = thread::Builder::new().name("answer".into()).spawn(body);
    response(kind, Parts { parts, left: length })
}

fn response(kind: &'static str, parts: Parts) -> Response<Parts> {
    let mut response = Response::new(parts);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// A body in parts with a known total length.
struct Parts {
    parts: mpsc::Receiver<io::Result<Bytes>>,
    left: u64,
}

impl Parts {
    fn from_bytes(bytes: Bytes) -> Parts {
        let left = bytes.len() as u64;
        let (sender, parts) = mpsc::channel(1);
        // This cannot fail, because the channel has room for one part.
        let _ = sender.try_send(Ok(bytes));
        Parts { parts, left }
    }
}

impl Body for Parts {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let part = std::task::ready!(self.parts.poll_recv(context));
        if let Some(Ok(part)) = &part {
            self.left = self.left.saturating_sub(part.len() as u64);
        }
        Poll::Ready(part.map(|it| it.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// Decodes `%` and two hexadecimal digits in a path into a byte. `None` if the path is invalid.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let value = digit()? << 4 | digit()?;
        bytes.push(u8::try_from(value).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_have_any_characters() {
        assert_eq!(decoded("a/b%20c%2Fd.json").as_deref(), Some("a/b c/d.json"));
        assert_eq!(decoded("%e2%82%ac").as_deref(), Some("€"));
        for wrong in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }
}
