//! [I/O] Samples in by a pipe, answers out by another, until the first one ends and all samples are answered.

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

/// Samples that wait for a place; past them the pipe is not read. 64 MB of them.
const MAX_WAITING: usize = 4_000_000;
/// So many requests are sent before bytes that arrived are looked at.
const MAX_AT_ONCE: usize = 16;
/// Connections that are made before the first sample comes, and kept to spare.
const SPARE: usize = 16;
const READ_BYTES: usize = 64 << 10;

/// The frames of the program.
pub(super) struct Incoming {
    pipe: pipe::Receiver,
    decoder: Decoder,
    bytes: Vec<u8>,
}

impl Incoming {
    /// Of a pipe, which no other process of ours reads. Needs a runtime.
    pub(super) fn new(from: impl AsFd) -> Result<Incoming, SutError> {
        let pipe =
            own(from).and_then(pipe::Receiver::from_owned_fd).map_err(|source| SutError::NoPipe("stdin", source))?;
        Ok(Incoming { pipe, decoder: Decoder::default(), bytes: vec![0; READ_BYTES] })
    }

    /// The version that the program says first.
    pub(super) async fn hello(&mut self) -> Result<(), SutError> {
        match self.next().await? {
            Some(Message::Hello(VERSION)) => Ok(()),
            Some(Message::Hello(found)) => Err(SutError::Version(found)),
            Some(Message::Issue(_)) | None => Err(SutError::NoHello),
        }
    }

    /// The next frame; `None` at the end. No frame is lost when it is dropped.
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

/// The pipe to the program. Needs a runtime.
pub(super) fn outgoing(to: impl AsFd) -> Result<pipe::Sender, SutError> {
    own(to).and_then(pipe::Sender::from_owned_fd).map_err(|source| SutError::NoPipe("stdout", source))
}

fn own(fd: impl AsFd) -> io::Result<OwnedFd> {
    fd.as_fd().try_clone_to_owned()
}

/// Answers all samples. At most `most` requests are under way; others wait in order.
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

/// How writing ended.
fn wrote(written: Result<Result<(), SutError>, JoinError>) -> Result<(), SutError> {
    written.unwrap_or_else(|error| Err(SutError::Pipe("stdout", io::Error::other(error))))
}

/// Sends what may be sent, and returns how many that were.
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

/// Returns once the program reads no more. No answer shows that before one comes, and one may take a day.
pub(super) async fn reader_gone(pipe: &pipe::Sender) -> SutError {
    let source = match pipe.ready(Interest::ERROR).await {
        Ok(_) => io::ErrorKind::BrokenPipe.into(),
        Err(error) => error,
    };
    SutError::Pipe("stdout", source)
}
