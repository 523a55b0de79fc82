//! What is counted of one request, and the tokens in its events. Pure.

use std::time::Duration;

use crate::{
    inter_token_times::InterTokenTimes,
    record::{Cause, Limit, RequestRecord},
    wire::fields,
};

/// What is counted of one request, beside its record.
#[derive(Clone, Debug, Default)]
pub struct WireTally {
    /// Times between its content events, in the order of arrival.
    pub gaps: InterTokenTimes,
    /// Reads that held content.
    pub reads: u64,
    /// Reads that held more than one content event.
    pub coalesced_reads: u64,
    /// Coalesced reads that came late because the launcher was busy: their events may have arrived one after another. See
    /// `engine::vitals::receive`.
    pub late_reads: u64,
    /// Why it failed: a short text without body and header.
    pub error: Option<String>,
    /// The timeout that passed, if it failed by one.
    pub timeout: Option<Limit>,
    /// Why it got no connection, or no answer on a connection.
    pub cause: Option<Cause>,
    /// It was sent again, because the server had closed the connection of the first attempt.
    pub retried: bool,
    /// It had a new connection, because the server does not keep connections although it says so.
    pub own_connection: bool,
    /// The prompt had exactly the requested number of token ids.
    pub has_exact_prompt: bool,
    /// Events that may hold a token without text, before the first content event and after the last one.
    pub silent_events: u32,
    /// Those of them that end an answer because of its length.
    pub silent_length_ends: u32,
    /// Tokens in the first content event, if the server tells them.
    pub first_event_tokens: Option<u32>,
    /// The output tokens of a usage that is impossible.
    pub set_aside: Option<u32>,
    /// The answer came in one piece although a stream was requested.
    pub in_one_piece: bool,
    /// Times of the request that its record lacks.
    pub steps: Steps,
}

/// Times of the steps of a request that its record lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// How long it took to make the request. That is done before it is due, unless it is late.
    pub build: Duration,
    /// When the last byte of the request was handed to the socket.
    pub written: Option<Duration>,
    /// When the head of the answer had arrived.
    pub head: Option<Duration>,
    /// How long bytes of the answer waited to be interpreted, and were interpreted, since they left the socket.
    pub parse: Duration,
}

/// A usage that is impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Output tokens of the usage.
    pub told: u32,
    /// Output tokens that were requested.
    pub requested: Option<u32>,
    /// Content events that arrived.
    pub events: u32,
}

/// Tokens in the content events of an answer, and the number of these events; `None` if the server does not tell the
/// tokens, and for an answer in one piece.
pub(super) fn event_tokens(request: &RequestRecord, wire: &WireTally) -> Option<(u32, u32)> {
    let (told, events) = (request.output_tokens?, request.content_events);
    let tokens = if told <= events.saturating_add(wire.silent_events) {
        // One token an event. Further tokens have no text.
        told.min(events)
    } else {
        // An event without text holds one token. An end by length holds none: its token came with the text before it.
        told - wire.silent_events.saturating_sub(wire.silent_length_ends)
    };
    (events > 0).then_some((tokens, events))
}

/// Tokens after the first content event, and the gaps between events, if a gap holds more than one token.
///
/// A server sends the first token as soon as it has it, even if later events hold several tokens. The first event
/// therefore counts as one token unless the server tells more, and the mean of the divided gaps is the TPOT.
pub(super) fn several_tokens(request: &RequestRecord, wire: &WireTally) -> Option<(u32, u32)> {
    let (tokens, events) = event_tokens(request, wire)?;
    let first = wire.first_event_tokens.unwrap_or(1).max(1);
    let (later, gaps) = (tokens.saturating_sub(first), events - 1);
    (later > gaps).then_some((later, gaps))
}

fields!(Steps { build, written, head, parse });
fields!(SetAside { told, requested, events });
