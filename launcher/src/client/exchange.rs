//! [I/O] One request and its answer on a connection of the client.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header::CONTENT_TYPE};
use http_body_util::Full;
use hyper::body::Incoming;

use super::{
    Client,
    answer::{Answer, Failure},
    api_error::short,
    connection::{Connection, SendFailure},
    socket::Marks,
};
use crate::{clock::TimedOut, record::RequestOutcome};

/// How long the end of a body may take once the answer is complete; past it the connection is not used again.
const END_TIMEOUT: Duration = Duration::from_secs(1);
/// A connection that the server closed while it was idle shows it well within this time of the next write.
const CLOSING: Duration = Duration::from_millis(100);

/// What is known of a request under way. It outlives the future that carries the request out, so that a request that was
/// timed out or cancelled tells how far it came.
#[derive(Debug, Default)]
pub struct Exchange {
    /// The answer so far.
    pub answer: Answer,
    /// When the last byte came, once the answer has ended.
    pub ended: Option<Duration>,
    sent: Option<Duration>,
    marks: Option<Arc<Marks>>,
}

impl Exchange {
    /// When the first byte of the request was handed to a socket.
    pub fn sent(&self) -> Option<Duration> {
        self.sent.or_else(|| self.marks.as_ref()?.sent())
    }

    /// The connection may go on to other requests.
    fn let_go(&mut self) {
        self.sent = self.sent();
        self.marks = None;
    }
}

/// A connection whose answer has begun.
struct Begun {
    connection: Connection,
    head: Response<Incoming>,
}

impl Client {
    /// Sends a generation request and reads its answer to the end. A connection that the server had closed while it was
    /// idle is replaced once.
    ///
    /// # Errors
    /// Why it does not count as an answer.
    pub async fn call(
        &self,
        body: Bytes,
        id: Option<HeaderValue>,
        streaming: bool,
        exchange: &mut Exchange,
    ) -> Result<RequestOutcome, Failure> {
        let request = || self.target.generate(body.clone(), id.clone());
        let begun = self.begin(request, exchange).await?;
        self.read(begun, streaming, exchange).await?;
        exchange.answer.verdict()
    }

    /// Sends a request and returns the status of the answer and its body.
    ///
    /// # Errors
    /// No complete answer came, or it was longer than `longest` bytes.
    pub(super) async fn fetch(&self, request: Request<Full<Bytes>>, longest: usize) -> Result<(u16, Vec<u8>), Failure> {
        let Begun { mut connection, head } = self.begin(|| request.clone(), &mut Exchange::default()).await?;
        let (head, mut body) = head.into_parts();
        let mut whole = Vec::new();
        while let Some(bytes) = connection.next(&mut body).await {
            whole.extend_from_slice(&bytes.map_err(|error| cut(&error))?);
            if whole.len() > longest {
                let message = format!("the answer is longer than {longest} bytes");
                return Err(Failure::new(RequestOutcome::BrokenStream, message));
            }
        }
        Ok((head.status.as_u16(), whole))
    }

    async fn begin(
        &self,
        request: impl Fn() -> Request<Full<Bytes>>,
        exchange: &mut Exchange,
    ) -> Result<Begun, Failure> {
        if let Some(mut connection) = self.take_open().await {
            exchange.marks = Some(connection.marks());
            match connection.send(request()).await {
                Ok(head) => return Ok(Begun { connection, head }),
                // The server closed it while it was idle, just when the request was on its way. One that took its time
                // had the request, and may have begun to work on it.
                Err(SendFailure::Nothing(error)) if self.was_held(exchange) => return Err(no_head(&error)),
                Err(SendFailure::Nothing(_)) => {}
                Err(SendFailure::Broken(error)) => return Err(no_head(&error)),
            }
        }
        let mut connection = self.connect().await?;
        exchange.marks = Some(connection.marks());
        match connection.send(request()).await {
            Ok(head) => Ok(Begun { connection, head }),
            Err(SendFailure::Nothing(error) | SendFailure::Broken(error)) => Err(no_head(&error)),
        }
    }

    /// Whether the request has been with the server for longer than a closing connection takes to show.
    fn was_held(&self, exchange: &Exchange) -> bool {
        exchange.sent().is_some_and(|sent| self.clock.now().saturating_sub(sent) > CLOSING)
    }

    async fn read(&self, begun: Begun, streaming: bool, exchange: &mut Exchange) -> Result<(), Failure> {
        let Begun { mut connection, head } = begun;
        let (head, mut body) = head.into_parts();
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        exchange.answer.head(head.status.as_u16(), content_type, streaming);
        let mut complete = None;
        let ended = loop {
            let next = connection.next(&mut body);
            let next = if exchange.answer.is_complete() {
                let complete = *complete.get_or_insert_with(|| self.clock.now());
                match self.clock.within(Some(complete + END_TIMEOUT), next).await {
                    Ok(next) => next,
                    Err(TimedOut) => break false,
                }
            } else {
                next.await
            };
            let (at, read) = connection.last_read();
            match next {
                Some(Ok(bytes)) => exchange.answer.bytes(&bytes, at, read),
                Some(Err(_)) if exchange.answer.is_complete() => break false,
                Some(Err(error)) => {
                    exchange.let_go();
                    return Err(cut(&error));
                }
                None => {
                    exchange.answer.end(at, read);
                    break true;
                }
            }
            if exchange.answer.has_failed() {
                break false;
            }
        };
        exchange.ended = Some(connection.last_read().0);
        exchange.let_go();
        if ended && connection.settle().await {
            self.keep(connection);
        }
        Ok(())
    }
}

/// It broke before the status line, or what came was none.
fn no_head(error: &hyper::Error) -> Failure {
    if error.is_parse() {
        return Failure::new(RequestOutcome::BrokenStream, "the answer is no HTTP");
    }
    Failure::new(
        RequestOutcome::ConnectError,
        short(&format!("the connection broke before the answer: {}", cause(error))),
    )
}

/// It broke in the body.
fn cut(error: &hyper::Error) -> Failure {
    Failure::new(RequestOutcome::BrokenStream, short(&format!("the connection broke in the answer: {}", cause(error))))
}

/// The innermost error says what happened; the outer ones say where in the library.
fn cause(error: &hyper::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
