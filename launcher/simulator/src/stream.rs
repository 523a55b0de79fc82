//! [I/O] The body of an answer: one piece, or a stream that turns the progress of the engine into chunks.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use super::api::{Dialect, StreamUsage};
use super::batching_model::Generation;
use super::chunks::{CacheUse, Choice, Chunks, DONE, Identity};
use super::faults::FaultKind;
use super::typed_events::TypedEvents;
use super::work::Finish;

/// The body of an answer.
#[derive(Debug)]
pub enum Body {
    /// A body in one piece. `None` after it was taken.
    Whole(Option<Bytes>),
    /// A stream of events. Boxed, because it is many times larger.
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
    /// Only a fault that cuts the stream is an error.
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

/// The events of one choice, in the form of each API.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "the small variant is rare, and the large one is on the hot path")]
pub enum Events {
    /// OpenAI's completions and chats.
    Chunks(Chunks),
    /// The Responses and Messages APIs. Boxed, because they are rare and larger.
    Typed(Box<TypedEvents>),
}

impl Events {
    /// Creates the events for one choice of an answer.
    pub fn new(identity: &Identity, choice: Choice, usage: StreamUsage) -> Self {
        match identity.dialect {
            Dialect::OpenAi => Events::Chunks(Chunks::new(identity, choice, usage)),
            Dialect::Responses | Dialect::Messages => Events::Typed(Box::new(TypedEvents::new(identity, choice))),
        }
    }

    fn opening(&mut self) -> Option<Bytes> {
        match self {
            Events::Chunks(chunks) => chunks.role(),
            Events::Typed(events) => Some(events.opening()),
        }
    }

    fn token(&mut self, position: u32, finish: Option<Finish>) -> Bytes {
        match self {
            Events::Chunks(chunks) => chunks.token(position, finish),
            Events::Typed(events) => events.token(position, finish),
        }
    }

    /// Returns the event that ends a stream without another token, after `tokens` tokens. Empty if the API's closing events already end the stream.
    fn ending(&mut self, tokens: u32, finish: Finish) -> Bytes {
        match self {
            Events::Chunks(chunks) => chunks.ending(tokens, finish),
            Events::Typed(_) => Bytes::new(),
        }
    }

    fn closing(&mut self, prompt_tokens: u32, tokens: u32, details: Option<CacheUse>) -> Option<Bytes> {
        match self {
            Events::Chunks(chunks) => chunks.usage(prompt_tokens, tokens, details),
            Events::Typed(events) => Some(events.closing(prompt_tokens, tokens, details)),
        }
    }

    /// The last line of a stream. `None` for the Responses API.
    fn done(&self) -> Option<Bytes> {
        match self {
            Events::Typed(events) if events.dialect() == Dialect::Responses => None,
            Events::Chunks(_) | Events::Typed(_) => Some(Bytes::from_static(DONE)),
        }
    }
}

/// One choice of a stream.
#[derive(Debug)]
pub struct ChoiceStream {
    generation: Generation,
    events: Events,
    /// Number of tokens that were sent.
    sent: u32,
    ended: bool,
}

impl ChoiceStream {
    /// The state before the first chunk.
    pub fn new(generation: Generation, events: Events) -> Self {
        ChoiceStream { generation, events, sent: 0, ended: false }
    }

    /// Returns the next token, or the end of an aborted choice.
    fn poll_token(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        let progress = ready!(self.generation.poll(cx, self.sent));
        if self.sent == progress.tokens {
            self.ended = true;
            return Poll::Ready(self.events.ending(self.sent, progress.finish.unwrap_or(Finish::Abort)));
        }
        let position = self.sent;
        self.sent += 1;
        let last = progress.finish.filter(|finish| self.sent == progress.tokens && *finish != Finish::Abort);
        self.ended = last.is_some();
        Poll::Ready(self.events.token(position, last))
    }
}

/// The events of one answer. Each is sent in a separate frame. If an answer has several choices, each event is sent as soon as its token is ready.
#[derive(Debug)]
pub struct EventStream {
    /// The choices, at least one.
    parts: Vec<ChoiceStream>,
    /// Number of tokens in all prompts. Each prompt is counted once.
    prompt_tokens: u32,
    fault: Option<FaultKind>,
    details: Option<PromptBlocks>,
    /// The index of the part that is polled first for the next token.
    turn: usize,
    next: Next,
}

/// The data that is needed to report the use of the prefix cache.
#[derive(Clone, Copy, Debug)]
pub struct PromptBlocks {
    /// Length of the prompt, in tokens.
    pub prompt_tokens: u32,
    /// Tokens per block. 0 without a prefix cache.
    pub block_size: u32,
}

impl PromptBlocks {
    /// Returns the cache use of a request that has its first token.
    pub fn cache_use(self, generation: &Generation) -> CacheUse {
        CacheUse::new(self.prompt_tokens, generation.cached_tokens(), self.block_size)
    }
}

/// The next event to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The role of the part with this index.
    Role(usize),
    Token,
    Break,
    Usage,
    Done,
    Nothing,
}

impl EventStream {
    /// Creates a stream with at least one part. It begins with the first event, and applies the faults that occur within a stream. With the `details`
    /// of the first prompt, its usage reports the use of the prefix cache.
    pub fn new(
        parts: Vec<ChoiceStream>,
        prompt_tokens: u32,
        fault: Option<FaultKind>,
        details: Option<PromptBlocks>,
    ) -> Self {
        EventStream { parts, prompt_tokens, fault, details, turn: 0, next: Next::Role(0) }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        loop {
            match self.next {
                Next::Role(part) => {
                    // All roles wait for the first token, because vLLM sends them together with it.
                    if part == 0 && !self.parts.iter().any(|it| it.generation.poll(cx, 0).is_ready()) {
                        return Poll::Pending;
                    }
                    self.next = if part + 1 < self.parts.len() { Next::Role(part + 1) } else { Next::Token };
                    if let Some(role) = self.parts.get_mut(part).and_then(|it| it.events.opening()) {
                        return Poll::Ready(Some(Ok(role)));
                    }
                }
                Next::Token => {
                    match self.fault {
                        Some(FaultKind::BreakAfter(tokens)) if self.sent() >= tokens => {
                            self.next = Next::Break;
                            // Wait for the next poll, so that earlier events have been sent.
                            cx.waker().wake_by_ref();
                            return Poll::Pending;
                        }
                        // Nothing wakes this stream. It only ends when the client disconnects.
                        Some(FaultKind::StallAfter(tokens)) if self.sent() >= tokens => return Poll::Pending,
                        _ => {}
                    }
                    return Poll::Ready(Some(Ok(ready!(self.poll_token(cx)))));
                }
                Next::Break => return Poll::Ready(Some(Err(io::Error::other("broken by a fault")))),
                Next::Usage => {
                    self.next = Next::Done;
                    let (prompt_tokens, sent) = (self.prompt_tokens, self.sent());
                    let Some(first) = self.parts.first_mut() else { continue };
                    let details = self.details.map(|it| it.cache_use(&first.generation));
                    if let Some(usage) = first.events.closing(prompt_tokens, sent, details) {
                        return Poll::Ready(Some(Ok(usage)));
                    }
                }
                Next::Done => {
                    self.next = Next::Nothing;
                    return Poll::Ready(self.parts.first().and_then(|it| it.events.done()).map(Ok));
                }
                Next::Nothing => return Poll::Ready(None),
            }
        }
    }

    /// Returns the next token of any part.
    fn poll_token(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        let count = self.parts.len();
        for position in (self.turn..count).chain(0..self.turn) {
            let part = &mut self.parts[position];
            if part.ended {
                continue;
            }
            if let Poll::Ready(chunk) = part.poll_token(cx) {
                self.turn = (position + 1) % count;
                if self.parts.iter().all(|part| part.ended) {
                    self.next = Next::Usage;
                }
                return Poll::Ready(chunk);
            }
        }
        Poll::Pending
    }

    /// Number of tokens that were sent, over all parts.
    fn sent(&self) -> u32 {
        self.parts.iter().map(|part| part.sent).sum()
    }
}
