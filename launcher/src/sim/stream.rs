//! [I/O] The body of an answer: one piece, or a stream that turns the progress of the engine into chunks.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::chunks::{CacheUse, Chunks, DONE};
use super::engine::{Finish, Generation};
use super::faults::FaultKind;

/// The body of an answer.
#[derive(Debug)]
pub enum Body {
    /// One piece, until it is taken.
    Whole(Option<Bytes>),
    /// Events. Boxed, since it is many times as large.
    Stream(Box<EventStream>),
}

impl Body {
    /// A body in one piece.
    pub fn whole(body: impl Into<Bytes>) -> Self {
        Body::Whole(Some(body.into()))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    /// A stream that a fault cuts.
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Body::Whole(piece) => Poll::Ready(piece.take().map(|piece| Ok(Frame::data(piece)))),
            Body::Stream(stream) => stream.poll_event(cx).map(|event| event.map(|event| event.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Whole(piece) => piece.is_none(),
            Body::Stream(stream) => stream.next == Next::Nothing,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(piece) => SizeHint::with_exact(piece.as_ref().map_or(0, |piece| piece.len() as u64)),
            Body::Stream(_) => SizeHint::default(),
        }
    }
}

/// The events of one answer, each a frame of its own.
#[derive(Debug)]
pub struct EventStream {
    generation: Generation,
    chunks: Chunks,
    fault: Option<FaultKind>,
    details: Option<Details>,
    /// Tokens that were sent.
    sent: u32,
    next: Next,
}

/// What it takes to tell what came of the prefix cache.
#[derive(Clone, Copy, Debug)]
pub struct Details {
    /// Length of the prompt.
    pub prompt_tokens: u32,
    /// Tokens in a block; 0 without a prefix cache.
    pub block_size: u32,
}

impl Details {
    /// For a request that has its first token.
    pub fn of(self, generation: &Generation) -> CacheUse {
        CacheUse::of(self.prompt_tokens, generation.cached_tokens(), self.block_size)
    }
}

/// What is sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Role,
    Token,
    Cut,
    Usage,
    Done,
    Nothing,
}

impl EventStream {
    /// A stream from its first event on. Of the faults it knows those that strike in a stream. With `details` its usage
    /// tells of the prefix cache.
    pub fn new(generation: Generation, chunks: Chunks, fault: Option<FaultKind>, details: Option<Details>) -> Self {
        EventStream { generation, chunks, fault, details, sent: 0, next: Next::Role }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            match self.next {
                Next::Role => {
                    // It waits for the first token, since vLLM sends both together.
                    ready!(self.generation.poll(cx, 0));
                    self.next = Next::Token;
                    if let Some(role) = self.chunks.role() {
                        return Poll::Ready(Some(Ok(role)));
                    }
                }
                Next::Token => {
                    match self.fault {
                        Some(FaultKind::BreakAfter(tokens)) if self.sent >= tokens => {
                            self.next = Next::Cut;
                            // One turn later, so that what was sent before is on the wire.
                            cx.waker().wake_by_ref();
                            return Poll::Pending;
                        }
                        // Nothing wakes it; a client that leaves ends it.
                        Some(FaultKind::StallAfter(tokens)) if self.sent >= tokens => return Poll::Pending,
                        _ => {}
                    }
                    return Poll::Ready(Some(Ok(ready!(self.poll_token(cx)))));
                }
                Next::Cut => return Poll::Ready(Some(Err(io::Error::other("cut by a fault")))),
                Next::Usage => {
                    self.next = Next::Done;
                    let details = self.details.map(|it| it.of(&self.generation));
                    if let Some(usage) = self.chunks.usage(self.sent, details) {
                        return Poll::Ready(Some(Ok(usage)));
                    }
                }
                Next::Done => {
                    self.next = Next::Nothing;
                    return Poll::Ready(Some(Ok(Bytes::from_static(DONE))));
                }
                Next::Nothing => return Poll::Ready(None),
            }
        }
    }

    /// The next token, or the end of a stream that was aborted.
    fn poll_token(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        let progress = ready!(self.generation.poll(cx, self.sent));
        if self.sent == progress.tokens {
            self.next = Next::Usage;
            return Poll::Ready(self.chunks.ending(progress.finish.unwrap_or(Finish::Abort)));
        }
        let place = self.sent;
        self.sent += 1;
        let last = progress.finish.filter(|finish| self.sent == progress.tokens && *finish != Finish::Abort);
        if last.is_some() {
            self.next = Next::Usage;
        }
        Poll::Ready(self.chunks.token(place, last))
    }
}
