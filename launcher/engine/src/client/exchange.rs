//! [I/O] Sends one request and reads its answer, on a connection of the client.

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

/// Maximum time for the end of the body after the answer is complete. If the body takes longer, the connection is not reused.
const END_TIMEOUT: Duration = Duration::from_secs(1);
/// As long as a request waits for the response headers on a new connection, the client checks at this interval whether the process has run out of
/// file descriptors.
const FILES_TIMEOUT: Duration = Duration::from_secs(1);
/// Within this time after a write, the client notices that the server had closed the idle connection.
const CLOSING: Duration = Duration::from_millis(100);
/// Statuses with which a gateway or a proxy reports that no server behind it responds.
const NO_SERVER: [u16; 3] = [502, 503, 504];

/// The state of a request in flight. It outlives the future that executes the request, so it shows how far a request came even if that
/// request timed out or was cancelled.
#[derive(Debug, Default)]
pub struct Exchange {
    pub answer: Answer,
    /// When the answer ended: when `[DONE]` or the end of the body arrived.
    pub ended: Option<Duration>,
    /// Whether the target itself did not respond: no connection, no response headers, or a gateway's report that no server responds.
    pub unanswered: bool,
    pub is_probe: bool,
    /// Index of the server chosen for the request; `None` if there is only one server.
    pub replica: Option<ListIndex>,
    /// Header fields in addition to the target's fields. If both have the same field, the value here is sent.
    pub headers: Option<Arc<HeaderMap>>,
    /// Whether the request was sent again, because the server had closed the first attempt's connection.
    pub retried: bool,
    /// Whether the request used a new connection, because the server does not keep connections open although it claims to.
    pub own_connection: bool,
    /// Progress of the request, which its timeouts observe.
    pub progress: Arc<RequestProgress>,
    /// Number of reads that returned several events and might have been late because of the launcher.
    pub late_reads: u64,
    /// Number of output tokens after which the client disconnects; `None` means that the client reads the answer to the end.
    pub enough: Option<u32>,
    pub keep_output: bool,
    /// Called with the first output. Used only if the output is kept.
    pub first_output: Option<FirstOutput>,
    /// The session of the request; `None` means that the request belongs to no session.
    pub session: Option<Arc<SessionLink>>,
    /// When the last byte of the request was handed to the socket.
    pub written: Option<Duration>,
    /// When the read arrived that completed the response headers.
    pub head: Option<Duration>,
    /// Total time between the arrival of answer bytes and the end of their interpretation.
    pub parse: Duration,
    /// The time up to which `parse` is counted.
    parsed: Duration,
    sent: Option<Duration>,
    timestamps: Option<Arc<IoTimestamps>>,
    /// The timestamps of the reads of the request's connection.
    reads: Option<Arc<IoTimestamps>>,
}

impl Exchange {
    /// When the first byte of the request was handed to a socket.
    pub fn sent(&self) -> Option<Duration> {
        self.sent.or_else(|| self.timestamps.as_ref()?.sent())
    }

    /// Records that the request is sent on this connection.
    fn take(&mut self, connection: &Connection, now: Duration) {
        self.timestamps = Some(Arc::clone(connection.timestamps()));
        self.reads = Some(Arc::clone(connection.reads()));
        self.progress.sent(now);
    }

    /// Returns the exchange of one prompt of a request with `of` prompts, with the answer to that prompt. Values that count once per request belong
    /// to the exchange of the first prompt.
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

    /// Handles bytes of the answer.
    fn bytes(&mut self, bytes: &[u8], at: Duration, read: u64) {
        let before = self.answer.coalesced_reads;
        self.answer.bytes(bytes, at, read);
        let coalesced = self.answer.coalesced_reads - before;
        if self.reads.as_ref().is_some_and(|it| it.last_read_was_late()) {
            self.late_reads += coalesced;
        }
        if let Some(timestamps) = &self.timestamps {
            // One read can contain several pieces. The time of each piece begins when the interpretation of the previous piece ended.
            let now = timestamps.now();
            self.parse += now.saturating_sub(at.max(self.parsed));
            self.parsed = now;
        }
    }

    /// Whether the client disconnects now. It never disconnects from an answer that has ended.
    fn is_enough(&self) -> bool {
        let enough = self.enough.is_some_and(|it| self.answer.tokens_so_far() >= it);
        enough && !self.answer.has_finished() && !self.answer.has_failed()
    }

    /// Copies the send time, because the connection may carry other requests later.
    fn let_go(&mut self) {
        self.sent = self.sent();
        self.written = self.timestamps.as_ref().and_then(|it| it.written());
        self.timestamps = None;
        self.reads = None;
    }
}

/// A response with its complete body.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) status: u16,
    /// The response header `server`.
    pub(super) server: Option<Box<str>>,
    pub(super) body: Vec<u8>,
}

/// A connection on which a response has begun.
struct Begun {
    connection: Connection,
    head: Head,
}

impl Client {
    /// Sends a generation request and reads its answer to the end. If there are several servers, chooses one. If the server had closed the idle
    /// connection, sends the request once more. The number of such resends is limited to what closed keep-alive connections can explain. A server
    /// that closes most connections which it claims to keep gets a new connection for each request.
    ///
    /// # Errors
    /// Returns why the request failed.
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

    /// Sends a request and returns the response.
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
                // The server closed the idle connection while the request was on its way. A server that has had the request for longer than `CLOSING`
                // might have begun to process it, so it is then not sent again.
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
        // Boxed because the future of connecting is larger than everything else here, and few requests need a new connection.
        let mut connection = Box::pin(self.connect_for_request()).await?;
        exchange.take(&connection, self.clock.now());
        let head = Box::pin(self.send_first(&mut connection, request)).await.map_err(|failure| no_head(&failure))?;
        Ok(Begun { connection, head })
    }

    /// Sends the first request of a connection. A server that lacks file descriptors accepts the connection late, and the request waits in the
    /// server's backlog. If the server is in this process or on this machine, the client then frees descriptors by closing its idle connections.
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

    /// Whether the request was sent more than [`CLOSING`] ago. The connection was then still open when the request was sent.
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

/// Returns the failure if the connection broke before the end of the response headers, or if the bytes were not headers.
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

/// Returns the failure if kept connections break before the response. Servers can close idle connections, but here it happened too often.
fn kept_closed(error: &Broken) -> Failure {
    let message = format!(
        "a reused connection broke before the answer ({error}), more often than an idle timeout of the server explains; check the server's log"
    );
    Failure::connection(Cause::KeptClosed, &message)
}

/// Returns the failure if the connection broke within the body.
fn broken_body(error: &Broken) -> Failure {
    Failure::new(RequestOutcome::BrokenStream, first_line(&format!("the connection broke in the answer: {error}")))
}
