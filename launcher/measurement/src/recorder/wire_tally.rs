//! Data about one request that the recorder gets in addition to the request's record, and the number of tokens in its events. Pure.

use std::time::Duration;

use crate::{
    inter_token_times::InterTokenTimes,
    record::{Cause, Limit, RequestRecord},
    wire::fields,
};

/// Data about one request, in addition to its record.
#[derive(Clone, Debug, Default)]
pub struct WireTally {
    /// Times between content events, in the order of arrival.
    pub gaps: InterTokenTimes,
    /// Number of socket reads that returned content.
    pub reads: u64,
    /// Number of socket reads that returned more than one content event.
    pub coalesced_reads: u64,
    /// Number of coalesced reads that were late because the launcher was busy, so that their events might have arrived at different times. See
    /// `engine::vitals::receive`.
    pub late_reads: u64,
    /// The reason why the request failed: a short text, without body and headers.
    pub error: Option<String>,
    /// The timeout that ended the request, if any.
    pub timeout: Option<Limit>,
    /// The reason why the request got no connection, or no response on a connection.
    pub cause: Option<Cause>,
    /// Whether the request was sent again, because the server had closed the connection of the first attempt.
    pub retried: bool,
    /// Whether the request used a new connection, because the server does not keep connections although it claims to.
    pub own_connection: bool,
    /// Whether the prompt consisted of exactly the requested number of token ids.
    pub has_exact_prompt: bool,
    /// Number of events before the first content event and after the last one that may represent a token without text.
    pub silent_events: u32,
    /// How many of these events end a choice because of its length limit.
    pub silent_length_ends: u32,
    /// Number of tokens in the first content event; `None` if the server does not report it.
    pub first_event_tokens: Option<u32>,
    /// The number of output tokens in an impossible usage.
    pub set_aside: Option<u32>,
    /// Whether the answer came in one piece although a stream was requested.
    pub in_one_piece: bool,
    /// Step times of the request that its record lacks.
    pub steps: Steps,
}

/// Step times of a request that its record lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Time spent on building the request. It is built before it is due, unless it is late.
    pub build: Duration,
    /// When the last byte of the request was handed to the socket.
    pub written: Option<Duration>,
    /// When the whole head of the response had arrived.
    pub head: Option<Duration>,
    /// Total time between the arrival of answer bytes and the end of their interpretation.
    pub parse: Duration,
}

/// A usage with an impossible number of output tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Number of output tokens in the usage.
    pub told: u32,
    /// Number of output tokens requested.
    pub requested: Option<u32>,
    /// Number of content events that arrived.
    pub events: u32,
}

/// Returns the number of tokens in the content events, and the number of these events. `None` for an answer in one piece, and if the server
/// does not report tokens.
pub(super) fn event_tokens(request: &RequestRecord, wire: &WireTally) -> Option<(u32, u32)> {
    let (told, events) = (request.output_tokens?, request.content_events);
    let tokens = if told <= events.saturating_add(wire.silent_events) {
        // Each event contains one token. Any other tokens have no text.
        told.min(events)
    } else {
        // A silent event represents one token, unless it ends a choice by its length limit: then the last token came with the text before
        // it.
        told - wire.silent_events.saturating_sub(wire.silent_length_ends)
    };
    (events > 0).then_some((tokens, events))
}

/// Returns the tokens after the first content event, and the number of gaps between events, if there is more than one token per gap.
///
/// A server sends the first token as soon as it is ready, even if later events contain several tokens. The first event therefore counts as
/// one token, unless the server reports more. With this rule, the mean of the divided gaps is the TPOT.
pub(super) fn several_tokens(request: &RequestRecord, wire: &WireTally) -> Option<(u32, u32)> {
    let (tokens, events) = event_tokens(request, wire)?;
    let first = wire.first_event_tokens.unwrap_or(1).max(1);
    let (later, gaps) = (tokens.saturating_sub(first), events - 1);
    (later > gaps).then_some((later, gaps))
}

fields!(Steps { build, written, head, parse });
fields!(SetAside { told, requested, events });
