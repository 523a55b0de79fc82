//! [I/O] Reads samples from one pipe and writes answers to another, until the first pipe ends and all samples are answered.

use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, OwnedFd},
    sync::Arc,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, Interest},
    net::unix::pipe,
    task::{JoinError, JoinSet, yield_now},
};

use super::{
    SutError,
    frames::{Decoder, Message, Sample, VERSION},
    outbox::Outbox,
    sample_answerer::SampleAnswerer,
};
use engine::issue::{check_join, poll_and_spawn};

/// Maximum number of waiting samples; that many need 64 MB. Above it, the pipe is not read.
const MAX_WAITING: usize = 4_000_000;
/// Number of requests that are sent before the runtime polls sockets again.
const MAX_AT_ONCE: usize = 16;
/// Number of idle connections that are opened before the first sample, and kept open.
const SPARE: usize = 16;
/// Maximum number of bytes per read from the pipe.
const READ_BYTES: usize = 64 << 10;

/// The pipe from the LoadGen program.
pub(super) struct Incoming {
    pipe: pipe::Receiver,
    decoder: Decoder,
    bytes: Vec<u8>,
}

impl Incoming {
    /// Takes a pipe that nothing else in this process reads. Must be called inside a runtime.
    pub(super) fn new(from: impl AsFd) -> Result<Incoming, SutError> {
        let pipe =
            own(from).and_then(pipe::Receiver::from_owned_fd).map_err(|source| SutError::NoPipe("stdin", source))?;
        Ok(Incoming { pipe, decoder: Decoder::default(), bytes: vec![0; READ_BYTES] })
    }

    /// Reads the first message, which must be the version of this launcher.
    pub(super) async fn hello(&mut self) -> Result<(), SutError> {
        match self.next().await? {
            Some(Message::Hello(VERSION)) => Ok(()),
            Some(Message::Hello(found)) => Err(SutError::Version(found)),
            Some(Message::Issue(_)) | None => Err(SutError::NoHello),
        }
    }

    /// Returns the next message. `None` at the end of the pipe. Cancelling the future loses no message.
    async fn next(&mut self) -> Result<Option<Message>, SutError> {
        loop {
            if let Some(message) = self.decoder.next()? {
                return Ok(Some(message));
            }
            match self.pipe.read(&mut self.bytes).await.map_err(|source| SutError::Pipe("stdin", source))? {
                0 if self.decoder.has_rest() => return Err(SutError::CutFrame),
                0 => return Ok(None),
                read => self.decoder.push(&self.bytes[..read]),
            }
        }
    }
}

/// Returns the pipe to the LoadGen program. Must be called inside a runtime.
pub(super) fn outgoing(to: impl AsFd) -> Result<pipe::Sender, SutError> {
    own(to).and_then(pipe::Sender::from_owned_fd).map_err(|source| SutError::NoPipe("stdout", source))
}

fn own(fd: impl AsFd) -> io::Result<OwnedFd> {
    fd.as_fd().try_clone_to_owned()
}

/// Answers all samples. At most `most` requests are in flight. Further samples wait in order.
pub(super) async fn serve(
    answerer: &Arc<SampleAnswerer>,
    mut incoming: Incoming,
    outgoing: pipe::Sender,
    most: usize,
) -> Result<(), SutError> {
    let mut writing = tokio::spawn(write(Arc::clone(&answerer.outbox), outgoing));
    answerer.client.warm(SPARE.min(most), SPARE.min(most)).await;
    let mut waiting = VecDeque::new();
    let mut in_flight = JoinSet::new();
    let mut open = true;
    while open || !waiting.is_empty() || !in_flight.is_empty() {
        if send(answerer, &mut waiting, &mut in_flight, most) == MAX_AT_ONCE {
            yield_now().await;
            continue;
        }
        tokio::select! {
            biased;
            message = incoming.next(), if open && waiting.len() < MAX_WAITING => match message? {
                Some(Message::Issue(samples)) => waiting.extend(samples),
                Some(Message::Hello(found)) => return Err(SutError::Version(found)),
                None => open = false,
            },
            Some(joined) = in_flight.join_next() => check_join(joined),
            () = answerer.outbox.room(), if !answerer.outbox.has_room() => {}
            written = &mut writing => return wrote(written),
        }
    }
    answerer.outbox.close();
    wrote(writing.await)
}

fn wrote(written: Result<Result<(), SutError>, JoinError>) -> Result<(), SutError> {
    written.unwrap_or_else(|error| Err(SutError::Pipe("stdout", io::Error::other(error))))
}

/// Sends waiting samples, up to the limits. Returns the number of samples that were sent.
fn send(
    answerer: &Arc<SampleAnswerer>,
    waiting: &mut VecDeque<Sample>,
    in_flight: &mut JoinSet<()>,
    most: usize,
) -> usize {
    let mut sent = 0;
    while sent < MAX_AT_ONCE && in_flight.len() < most && answerer.outbox.has_room() {
        let Some(sample) = waiting.pop_front() else { break };
        poll_and_spawn(in_flight, Arc::clone(answerer).answer(sample));
        sent += 1;
        while let Some(joined) = in_flight.try_join_next() {
            check_join(joined);
        }
    }
    if sent > 0 && answerer.client.needs_spare() {
        let answerer = Arc::clone(answerer);
        tokio::spawn(async move { answerer.client.fill().await });
    }
    sent
}

async fn write(outbox: Arc<Outbox>, mut pipe: pipe::Sender) -> Result<(), SutError> {
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            filled = outbox.take(&mut batch) => if !filled { return Ok(()) },
            gone = reader_gone(&pipe) => return Err(gone),
        }
        pipe.write_all(&batch).await.map_err(|source| SutError::Pipe("stdout", source))?;
        batch.clear();
    }
}

/// Returns when the program has closed its end of the pipe. Without this, the launcher would only notice it at the next answer.
pub(super) async fn reader_gone(pipe: &pipe::Sender) -> SutError {
    let source = match pipe.ready(Interest::ERROR).await {
        Ok(_) => io::ErrorKind::BrokenPipe.into(),
        Err(error) => error,
    };
    SutError::Pipe("stdout", source)
}
