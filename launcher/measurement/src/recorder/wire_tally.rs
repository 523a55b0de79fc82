//! Counts of one request, and the tokens in its events. Pure.

use std::time::Duration;

use crate::{
    inter_token_times::InterTokenTimes,
    record::{Cause, Limit, RequestRecord},
    wire::fields,
};

/// Counts of one request in addition to its record.
#[derive(Clone, Debug, Default)]
pub struct WireTally {
    /// Times between its content events, in the order of arrival.
    pub gaps: InterTokenTimes,
    /// Reads that held content.
    pub reads: u64,
    /// Reads that held more than one content event.
    pub coalesced_reads: u64,
    /// Coalesced reads that were late because the launcher was busy: their events may have arrived at different times. See
    /// `engine::vitals::receive`.
    pub late_reads: u64,
    /// Why it failed: a short text without body and header.
    pub error: Option<String>,
    /// The timeout that passed, if a timeout ended the request.
    pub timeout: Option<Limit>,
    /// Why it got no connection, or no answer on a connection.
    pub cause: Option<Cause>,
    /// It was sent again, because the server had closed the connection of the first attempt.
    pub retried: bool,
    /// It had a new connection, because the server does not keep connections although it claims to.
    pub own_connection: bool,
    /// The prompt had exactly the requested number of token ids.
    pub has_exact_prompt: bool,
    /// Events that may hold a token without text, before the first content event and after the last one.
    pub silent_events: u32,
    /// The events among them that end an answer because of its length.
    pub silent_length_ends: u32,
    /// Tokens in the first content event, if the server reports them.
    pub first_event_tokens: Option<u32>,
    /// The output tokens of an impossible usage.
    pub set_aside: Option<u32>,
    /// The answer came in one piece although a stream was requested.
    pub in_one_piece: bool,
    /// Times of the request that its record lacks.
    pub steps: Steps,
}

/// Times of the steps of a request that its record lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// How long it took to make the request. It is made before it is due, unless it is late.
    pub build: Duration,
    /// When the last byte of the request was handed to the socket.
    pub written: Option<Duration>,
    /// When the whole head of the answer had arrived.
    pub head: Option<Duration>,
    /// Total time from when bytes of the answer left the socket until they were interpreted.
    pub parse: Duration,
}

/// An impossible usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Output tokens of the usage.
    pub told: u32,
    /// Output tokens that were requested.
    pub requested: Option<u32>,
    /// Content events that arrived.
    pub events: u32,
}

/// Tokens in the content events of an answer, and the number of these events. `None` if the server does not report the tokens, and for an
/// answer in one piece.
pub(super) fn event_tokens(request: &RequestRecord, wire: &WireTally) -> Option<(u32, u32)> {
    let (told, events) = (request.output_tokens?, request.content_events);
    let tokens = if told <= events.saturating_add(wire.silent_events) {
        // One token per event. Other tokens have no text.
        told.min(events)
    } else {
        // An event without text holds one token. An end by length holds none: its token came with the preceding text.
        told - wire.silent_events.saturating_sub(wire.silent_length_ends)
    };
    (events > 0).then_some((tokens, events))
}

/// Tokens after the first content event, and the gaps between events, if a gap holds more than one token.
///
/// A server sends the first token as soon as it is ready, even if later events hold several tokens. The first event therefore counts as one
/// token unless the server reports more, and the mean of the divided gaps is the TPOT.
pub(super) fn several_tokens(request: &RequestRecord, wire: &WireTally) -> Option<(u32, u32)> {
    let (tokens, events) = event_tokens(request, wire)?;
    let first = wire.first_event_tokens.unwrap_or(1).max(1);
    let (later, gaps) = (tokens.saturating_sub(first), events - 1);
    (later > gaps).then_some((later, gaps))
}

fields!(Steps { build, written, head, parse });
fields!(SetAside { told, requested, events });
