//! [I/O] The server of a trial. It answers immediately or at an exact pace, and records its send times.
//!
//! The server must use much less CPU time per token than any client, so that the trial measures the client. Therefore it has one thread and one
//! epoll, prepares its answers (`answers`), and makes one write per event. It records when each request arrived, and the time just before each send,
//! on the monotonic clock that all processes of a machine share. It deliberately lacks what the clients of a trial do not need, such as errors, rate
//! limits and chunked request bodies.

mod answers;
mod connection;
mod http;
mod pacer;
mod truth;
mod waiting;

use std::{
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener},
    time::Duration,
};

use crate::child_messages::{Listening, ServerSpec, nanos};
use answers::Answers;
use connection::{Answer, Connection};
use http::GenerationRequest;
use measurement::histogram::TimeHistogram;
pub use pacer::Pace;
use pacer::{Pacer, Stream};
use simulator::api::Endpoint;
pub use truth::{RequestTruth, Truth};
use waiting::{Event, Waiting};

/// Maximum number of connections that wait to be accepted. A client can open as many at the same time.
const BACKLOG: i32 = 16_384;
/// Maximum number of consecutive sends before the server checks for new requests. So arrival times are accurate even if many streams are due.
const MAX_SENDS: usize = 32;
/// Output length if the request does not specify one, in tokens.
pub(super) const DEFAULT_TOKENS: u32 = 128;
/// Maximum output length, in tokens. Trials do not need longer answers.
const MAX_TOKENS: u32 = 1 << 20;
/// Number of bytes per read.
const READ: usize = 64 << 10;

/// Serves on a free loopback port, and prints that port. When its standard input is closed, prints its [`Truth`] and returns.
///
/// # Errors
/// The system refuses a socket, a timer or a file descriptor.
pub fn serve(spec: &ServerSpec) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    rustix::net::listen(&listener, BACKLOG)?;
    let port = listener.local_addr()?.port();
    let mut server = Server::new(listener, spec.pace)?;
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, &Listening { port })?;
    stdout.write_all(b"\n")?;
    stdout.flush()?;
    let cpu = clock::process_cpu();
    server.run()?;
    let truth = server.truth(clock::process_cpu().saturating_sub(cpu));
    serde_json::to_writer(&mut stdout, &truth)?;
    stdout.flush()
}

struct Server {
    waiting: Waiting,
    listener: TcpListener,
    connections: Vec<Option<Connection>>,
    free: Vec<u32>,
    generation: u32,
    pace: Pace,
    pacer: Pacer,
    chat: Answers,
    completions: Answers,
    models: bytes::Bytes,
    requests: Vec<RequestTruth>,
    lateness: TimeHistogram,
    stalled: u64,
    streams: u32,
    most_streams: u32,
    buffer: Vec<u8>,
}

impl Server {
    fn new(listener: TcpListener, pace: Pace) -> io::Result<Server> {
        Ok(Server {
            waiting: Waiting::new(&listener)?,
            listener,
            connections: Vec::new(),
            free: Vec::new(),
            generation: 0,
            pace,
            pacer: Pacer::default(),
            chat: Answers::new(Endpoint::Chat),
            completions: Answers::new(Endpoint::Completions),
            models: answers::models(),
            requests: Vec::new(),
            lateness: TimeHistogram::default(),
            stalled: 0,
            streams: 0,
            most_streams: 0,
            buffer: vec![0; READ],
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut happened = Vec::new();
        loop {
            let more = self.send_due();
            let until = if more { Some(Duration::ZERO) } else { self.pacer.next() };
            self.waiting.wait(until, &mut happened)?;
            for event in happened.drain(..) {
                match event {
                    Event::Connect => self.accept()?,
                    Event::Readable(slot) => self.read(slot),
                    Event::Writable(slot) => self.flush(slot),
                    Event::End => return Ok(()),
                }
            }
        }
    }

    /// Sends tokens that are due. Returns whether more are due.
    fn send_due(&mut self) -> bool {
        for _ in 0..MAX_SENDS {
            let now = clock::monotonic();
            let Some((due, stream)) = self.pacer.next_due(now) else { return false };
            if self.send_next(due, stream, now) {
                self.take_requests(stream.slot, clock::monotonic());
            }
        }
        true
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            socket.set_nonblocking(true)?;
            socket.set_nodelay(true)?;
            let slot = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                u32::try_from(self.connections.len() - 1).expect("there are fewer open files than that")
            });
            self.waiting.add(&socket, slot)?;
            self.generation = self.generation.wrapping_add(1);
            self.connections[slot as usize] = Some(Connection::new(socket, self.generation));
        }
    }

    fn flush(&mut self, slot: u32) {
        let Some(connection) = &mut self.connections[slot as usize] else { return };
        match connection.flush(&self.waiting, slot) {
            Ok(()) => self.read(slot),
            Err(_) => self.close(slot),
        }
    }

    fn read(&mut self, slot: u32) {
        loop {
            let Some(connection) = &mut self.connections[slot as usize] else { return };
            match connection.socket.read(&mut self.buffer) {
                Ok(0) => return self.close(slot),
                Ok(length) => {
                    let now = clock::monotonic();
                    connection.input.extend_from_slice(&self.buffer[..length]);
                    self.take_requests(slot, now);
                    if length < self.buffer.len() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return self.close(slot),
            }
        }
    }

    /// Starts the answer to the next request of a connection, if that request is complete and the previous one is answered.
    fn take_requests(&mut self, slot: u32, now: Duration) {
        while let Some(connection) = &mut self.connections[slot as usize]
            && connection.answer.is_none()
        {
            let request = match http::request(&connection.input) {
                Ok(Some(request)) => request,
                Ok(None) => return,
                Err(error) => {
                    tracing::warn!(%error, "a connection was closed");
                    return self.close(slot);
                }
            };
            let asked = GenerationRequest::read(request.body);
            let (length, endpoint) = (request.length, request.endpoint);
            let request = request.id.and_then(truth::place);
            connection.input.drain(..length);
            let Some(endpoint) = endpoint else {
                let models = self.models.clone();
                self.write(slot, &models);
                continue;
            };
            let tokens = asked.tokens().unwrap_or(DEFAULT_TOKENS).clamp(1, MAX_TOKENS);
            let truth = request.map(|(stage, number)| {
                let sends_ns = Vec::with_capacity(if self.pace.is_instant() { 1 } else { tokens as usize });
                self.requests.push(RequestTruth { stage, number, arrived_ns: nanos(now), sends_ns });
                self.requests.len() - 1
            });
            connection.answer = Some(Answer { endpoint, tokens, stream: asked.stream, sent: 0, truth });
            let stream = Stream { slot, generation: connection.generation };
            self.streams += 1;
            self.most_streams = self.most_streams.max(self.streams);
            match asked.stream {
                _ if self.pace.is_instant() => _ = self.send_next(now, stream, clock::monotonic()),
                true => self.pacer.add(now + self.pace.ttft, stream),
                false => self.pacer.add(now + self.pace.answer(tokens), stream),
            }
        }
    }

    /// Sends the next token of a stream, or a whole answer that is not streamed. Returns whether the answer has ended.
    fn send_next(&mut self, due: Duration, stream: Stream, now: Duration) -> bool {
        let Some(connection) = &mut self.connections[stream.slot as usize] else { return false };
        let Some(answer) = connection.answer.as_mut().filter(|_| connection.generation == stream.generation) else {
            return false;
        };
        self.lateness.record(now.saturating_sub(due));
        let answers = match answer.endpoint {
            Endpoint::Chat => &mut self.chat,
            Endpoint::Completions => &mut self.completions,
        };
        let Answer { tokens, truth, .. } = *answer;
        let (opening, event, closing) = if self.pace.is_instant() || !answer.stream {
            answer.sent = tokens;
            (None, answers.whole(tokens, answer.stream), None)
        } else {
            let place = answer.sent;
            answer.sent += 1;
            let opening = (place == 0).then(|| answers.opening());
            (opening, answers.token(place, tokens), (answer.sent == tokens).then(|| answers.closing(tokens)))
        };
        let ended = answer.sent == tokens;
        if ended {
            connection.answer = None;
            self.streams -= 1;
        }
        let now = match opening {
            Some(opening) => {
                self.write(stream.slot, &opening);
                clock::monotonic()
            }
            None => now,
        };
        if let Some(truth) = truth {
            self.requests[truth].sends_ns.push(nanos(now));
        }
        self.write(stream.slot, &event);
        if let Some(closing) = closing {
            self.write(stream.slot, &closing);
        }
        if !ended {
            self.pacer.add(due + self.pace.itl, stream);
        }
        ended
    }

    fn write(&mut self, slot: u32, bytes: &[u8]) {
        let Some(connection) = &mut self.connections[slot as usize] else { return };
        match connection.write(bytes, &self.waiting, slot) {
            Ok(at_once) => self.stalled += u64::from(!at_once),
            Err(_) => self.close(slot),
        }
    }

    fn close(&mut self, slot: u32) {
        if let Some(connection) = self.connections[slot as usize].take() {
            self.streams -= u32::from(connection.answer.is_some());
            self.free.push(slot);
        }
    }

    fn truth(self, cpu: Duration) -> Truth {
        Truth {
            requests: self.requests,
            cpu_ns: nanos(cpu),
            lateness_p99_ns: self.lateness.histogram().value_at_quantile(0.99),
            stalled: self.stalled,
            most_streams: self.most_streams,
        }
    }
}
