//! [I/O] One request and its answer on a connection of the client.

use std::{pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request};

use super::{
    Client,
    answer::Answer,
    api_error::first_line,
    connection::Connection,
    failure::Failure,
    output::FirstOutput,
    request_timeouts::RequestProgress,
    response::{Broken, Head, Reach, SendFailure},
    session_link::SessionLink,
    socket::IoTimestamps,
};
use clock::TimedOut;
use measurement::record::{Cause, ListIndex, RequestOutcome};

/// How long the end of a body may take once the answer is complete. After that the connection is not used again.
const END_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the head of the first answer may take before a lack of files is suspected.
const FILES_TIMEOUT: Duration = Duration::from_secs(1);
/// If a server closed a connection while it was idle, the next write shows it within this time.
const CLOSING: Duration = Duration::from_millis(100);
/// The statuses by which a gateway or a proxy says that no server behind it answers.
const NO_SERVER: [u16; 3] = [502, 503, 504];

/// The state of a request under way. It outlives the future that carries the request out, so that a request that timed
/// out or was cancelled still tells how far it came.
#[derive(Debug, Default)]
pub struct Exchange {
    pub answer: Answer,
    /// When the last byte that matters arrived, once the answer has ended: `[DONE]`, or the end of its body.
    pub ended: Option<Duration>,
    /// The target itself did not answer: there was no connection, no head of an answer, or the status of a gateway
    /// without a server.
    pub unanswered: bool,
    pub is_probe: bool,
    /// Index of the server that was chosen for it; `None`: there is one.
    pub replica: Option<ListIndex>,
    /// Header fields beside those of the target, which win over them.
    pub headers: Option<Arc<HeaderMap>>,
    /// It was sent again, because the server had closed the connection of the first attempt.
    pub retried: bool,
    /// It has a new connection, because the server does not keep connections although it says so.
    pub own_connection: bool,
    /// How far it has come, for its timeouts.
    pub progress: Arc<RequestProgress>,
    /// Reads with several events that the launcher may have read late.
    pub late_reads: u64,
    /// The client disconnects at this many output tokens; `None`: it reads to the end.
    pub enough: Option<u32>,
    pub keep_output: bool,
    /// Called with the first output, if the output is kept.
    pub first_output: Option<FirstOutput>,
    /// The session of the request; `None`: it belongs to none.
    pub session: Option<Arc<SessionLink>>,
    /// When the last byte of the request was handed to the socket.
    pub written: Option<Duration>,
    /// When the head of the answer was there: the read that brought its end.
    pub head: Option<Duration>,
    /// How long bytes of the answer waited to be interpreted, and were interpreted, since they left the socket.
    pub parse: Duration,
    /// Until when that was counted.
    parsed: Duration,
    sent: Option<Duration>,
    timestamps: Option<Arc<IoTimestamps>>,
    /// Of the reads of its connection.
    reads: Option<Arc<IoTimestamps>>,
}

impl Exchange {
    /// When the first byte of the request was handed to a socket.
    pub fn sent(&self) -> Option<Duration> {
        self.sent.or_else(|| self.timestamps.as_ref()?.sent())
    }

    /// The request goes out on this connection.
    fn take(&mut self, connection: &Connection, now: Duration) {
        self.timestamps = Some(Arc::clone(connection.timestamps()));
        self.reads = Some(Arc::clone(connection.reads()));
        self.progress.sent(now);
    }

    /// The exchange as it was for one of the `of` prompts of its request, with the answer to that prompt. What is counted once a request
    /// is counted for the first prompt.
    pub fn of_prompt(&self, prompt: usize, of: u32, answer: Answer) -> Exchange {
        let is_first = prompt == 0;
        Exchange {
            answer,
            ended: self.ended,
            unanswered: self.unanswered,
            retried: self.retried && is_first,
            own_connection: self.own_connection && is_first,
            late_reads: if is_first { self.late_reads } else { 0 },
            written: self.written,
            head: self.head,
            parse: self.parse / of.max(1),
            sent: self.sent(),
            ..Exchange::default()
        }
    }

    /// Handles bytes of the answer that this thread has read.
    fn bytes(&mut self, bytes: &[u8], at: Duration, read: u64) {
        let before = self.answer.coalesced_reads;
        self.answer.bytes(bytes, at, read);
        let coalesced = self.answer.coalesced_reads - before;
        if self.reads.as_ref().is_some_and(|it| it.last_read_was_late()) {
            self.late_reads += coalesced;
        }
        if let Some(timestamps) = &self.timestamps {
            // One read may bring several pieces: each counts from the end of the one before it.
            let now = timestamps.now();
            self.parse += now.saturating_sub(at.max(self.parsed));
            self.parsed = now;
        }
    }

    /// Whether the client disconnects now. It does not disconnect from an answer that has come to its end.
    fn is_enough(&self) -> bool {
        let enough = self.enough.is_some_and(|it| self.answer.tokens_so_far() >= it);
        enough && !self.answer.has_finished() && !self.answer.has_failed()
    }

    /// Copies the send time: the connection may go on to other requests.
    fn let_go(&mut self) {
        self.sent = self.sent();
        self.written = self.timestamps.as_ref().and_then(|it| it.written());
        self.timestamps = None;
        self.reads = None;
    }
}

/// A whole answer.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) status: u16,
    /// The header field `server`.
    pub(super) server: Option<Box<str>>,
    pub(super) body: Vec<u8>,
}

/// A connection on which an answer has begun.
struct Begun {
    connection: Connection,
    head: Head,
}

impl Client {
    /// Sends a generation request, of several servers to the one whose turn it is, and reads its answer to the end. If the server had
    /// closed the connection while it was idle, the request is sent again once, as often as keep-alive explains. A server that closes
    /// most connections that it says it keeps gets a new connection for each request from then on.
    ///
    /// # Errors
    /// Why the request failed.
    pub async fn call(
        &self,
        body: Bytes,
        id: Option<HeaderValue>,
        streaming: bool,
        exchange: &mut Exchange,
    ) -> Result<RequestOutcome, Failure> {
        let Some(spread) = self.target.spread() else { return self.call_one(body, id, streaming, exchange).await };
        let chosen = spread.choose(exchange.session.as_ref().and_then(|it| it.server()));
        exchange.replica = ListIndex::new(chosen.index);
        exchange.session.iter().for_each(|it| it.begin_at(chosen.index));
        self.of_server(chosen.index).call_one(body, id, streaming, exchange).await
    }

    async fn call_one(
        &self,
        body: Bytes,
        id: Option<HeaderValue>,
        streaming: bool,
        exchange: &mut Exchange,
    ) -> Result<RequestOutcome, Failure> {
        if exchange.keep_output {
            exchange.answer.keep_output();
            if let Some(first) = exchange.first_output.take() {
                exchange.answer.tell_first(first);
            }
        }
        let mut request = self.target.generate(body, id);
        if let Some(headers) = exchange.headers.take() {
            for (name, value) in headers.iter() {
                request.headers_mut().insert(name.clone(), value.clone());
            }
        }
        if let Some((name, value)) = exchange.session.as_ref().and_then(|it| it.header()) {
            request.headers_mut().insert(name, value);
        }
        let begun = self.begin(&request, exchange).await;
        let is_answered = begun.as_ref().is_ok_and(|it| !NO_SERVER.contains(&it.head.status));
        exchange.unanswered = !is_answered;
        if is_answered {
            self.outage.reached();
        }
        let begun = begun?;
        let ended = self.read(begun, streaming, exchange).await?;
        if !ended && exchange.is_enough() {
            return Ok(RequestOutcome::Abandoned);
        }
        exchange.answer.conclude()
    }

    /// Sends a request and returns its answer.
    ///
    /// # Errors
    /// No complete answer came, or it was longer than `longest` bytes.
    pub(super) async fn fetch(&self, request: &Request<Bytes>, longest: usize) -> Result<Fetched, Failure> {
        let Begun { mut connection, head } = self.begin(request, &mut Exchange::default()).await?;
        let mut whole = Vec::new();
        let mut goes_on = true;
        while goes_on {
            goes_on = connection
                .next(|bytes, _, _| whole.extend_from_slice(bytes))
                .await
                .map_err(|error| broken_body(&error))?;
            if whole.len() > longest {
                let message = format!("the answer is longer than {longest} bytes");
                return Err(Failure::new(RequestOutcome::BrokenStream, message));
            }
        }
        Ok(Fetched { status: head.status, server: head.server, body: whole })
    }

    async fn begin(&self, request: &Request<Bytes>, exchange: &mut Exchange) -> Result<Begun, Failure> {
        self.group.count_request(exchange.is_probe);
        exchange.own_connection = !self.group.reuses_connections();
        while let Some(mut connection) = self.take_for(exchange.session.as_deref()).await {
            let was_used = connection.was_used();
            exchange.take(&connection, self.clock.now());
            let sent = match connection.last_read() {
                (_, 0) => Box::pin(self.send_first(&mut connection, request)).await,
                _ => connection.send(request).await,
            };
            let failure = match sent {
                Ok(head) => {
                    if was_used {
                        self.group.count_reuse();
                    }
                    return Ok(Begun { connection, head });
                }
                Err(failure) => failure,
            };
            match failure.reach {
                Reach::NotSent => {}
                // The server closed the idle connection while the request was on its way. If the server held the
                // request for longer, it may have begun to work on it.
                Reach::Untouched if !self.was_held(exchange) => {
                    if !self.group.may_resend(exchange.is_probe, was_used) {
                        return Err(kept_closed(&failure.error));
                    }
                    exchange.retried = true;
                    break;
                }
                _ => return Err(no_head(&failure)),
            }
        }
        // Boxed: connecting takes more memory than all the rest, and only few requests have to.
        let mut connection = Box::pin(self.connect_for_request()).await?;
        exchange.take(&connection, self.clock.now());
        let head = Box::pin(self.send_first(&mut connection, request)).await.map_err(|failure| no_head(&failure))?;
        Ok(Begun { connection, head })
    }

    /// Sends the first request of a connection. It may wait in the backlog of a server that lacks files to accept it.
    async fn send_first(&self, connection: &mut Connection, request: &Request<Bytes>) -> Result<Head, SendFailure> {
        let mut sending = pin!(connection.send(request));
        loop {
            match self.clock.within(Some(self.clock.now() + FILES_TIMEOUT), sending.as_mut()).await {
                Ok(sent) => return sent,
                Err(TimedOut) if self.group.lacks_files() => self.give_files_back(),
                Err(TimedOut) => {}
            }
        }
    }

    /// Whether the server has had the request for longer than a closed connection needs to show itself.
    fn was_held(&self, exchange: &Exchange) -> bool {
        exchange.sent().is_some_and(|sent| self.clock.now().saturating_sub(sent) > CLOSING)
    }

    /// Reads an answer. Returns `true` if its body was read to the end.
    async fn read(&self, begun: Begun, streaming: bool, exchange: &mut Exchange) -> Result<bool, Failure> {
        let Begun { mut connection, head } = begun;
        self.response_seen.note(head.status);
        exchange.head = Some(connection.last_read().0);
        exchange.answer.head(head.status, head.content_type.as_deref(), streaming);
        if let Some(coding) = &head.content_encoding {
            exchange.answer.coded(coding);
        }
        let mut complete = None;
        let ended = loop {
            let is_complete = exchange.answer.is_complete();
            let next = {
                let next = pin!(connection.next(|bytes, at, read| exchange.bytes(bytes, at, read)));
                if is_complete {
                    let complete = *complete.get_or_insert_with(|| self.clock.now());
                    match self.clock.within(Some(complete + END_TIMEOUT), next).await {
                        Ok(next) => next,
                        Err(TimedOut) => break false,
                    }
                } else {
                    next.await
                }
            };
            exchange.progress.saw(&exchange.answer);
            if !is_complete && exchange.answer.is_complete() {
                exchange.ended = Some(connection.last_read().0);
            }
            match next {
                Ok(true) => {}
                Ok(false) => {
                    let (at, read) = connection.last_read();
                    exchange.answer.end(at, read);
                    break true;
                }
                Err(_) if exchange.answer.is_complete() => break false,
                Err(error) => {
                    exchange.let_go();
                    return Err(broken_body(&error));
                }
            }
            if exchange.answer.has_failed() || exchange.is_enough() {
                break false;
            }
        };
        exchange.ended.get_or_insert(connection.last_read().0);
        exchange.let_go();
        if ended {
            self.keep(connection, exchange.session.as_deref()).await;
        }
        Ok(ended)
    }
}

/// The connection broke before the end of the head, or the bytes were no head.
fn no_head(failure: &SendFailure) -> Failure {
    let error = &failure.error;
    match (error, failure.reach) {
        (Broken::Malformed(error), _) => Failure::new(RequestOutcome::BrokenStream, error.to_string()),
        (_, Reach::Answered) => {
            let message = format!("the connection broke in the head of the answer: {error}");
            Failure::new(RequestOutcome::BrokenStream, first_line(&message))
        }
        _ => Failure::connection(error.cause(), &format!("the connection broke before the answer: {error}")),
    }
}

/// The connection broke before the answer, as it may when a server closes idle connections, but this happened too
/// often.
fn kept_closed(error: &Broken) -> Failure {
    let message = format!(
        "the kept connection broke before the answer ({error}), more often than keep-alive explains; look into the server's log"
    );
    Failure::connection(Cause::KeptClosed, &message)
}

/// The connection broke in the body.
fn broken_body(error: &Broken) -> Failure {
    Failure::new(RequestOutcome::BrokenStream, first_line(&format!("the connection broke in the answer: {error}")))
}
