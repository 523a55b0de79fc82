//! RequestRecord: what is kept of one request, and what became of it.

use std::{io, time::Duration};

use loadgen::results::completion::CompletedSample;
use serde::Serialize;

/// What became of a request. Every request that was due has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestOutcome {
    /// A complete answer with content.
    Ok,
    /// A complete answer without content.
    Empty,
    /// Status 400 or above, or an error object in place of an answer.
    HttpError(u16),
    /// The stream ended early, or held an error or what is no event.
    BrokenStream,
    /// It, or a part of it, took longer than a timeout allows: see [`Limit`].
    Timeout,
    /// No connection could be made, or it broke before the status line.
    ConnectError,
    /// In flight, or not yet sent, when the run was stopped.
    Cancelled,
    /// Its client went away, as the profile wants some to.
    Abandoned,
    /// In flight, or not yet sent, when its stage or its window ended by the word of the profile.
    Incomplete,
    /// The launcher itself could not send it.
    ClientError,
}

impl RequestOutcome {
    /// Whether its latencies count.
    pub fn is_success(self) -> bool {
        self == RequestOutcome::Ok
    }

    /// Whether the answer came to its end, with content or without.
    pub fn is_complete(self) -> bool {
        matches!(self, RequestOutcome::Ok | RequestOutcome::Empty)
    }

    /// Whether it says something of the server: it ended well, or it failed.
    pub fn is_decided(self) -> bool {
        !matches!(self, RequestOutcome::Cancelled | RequestOutcome::Abandoned | RequestOutcome::Incomplete)
    }

    /// The name in reports: `ok`, `http_503`, `timeout` and so on.
    pub fn name(self) -> String {
        match self {
            RequestOutcome::Ok => "ok".into(),
            RequestOutcome::Empty => "empty".into(),
            RequestOutcome::HttpError(code) => format!("http_{code}"),
            RequestOutcome::BrokenStream => "broken_stream".into(),
            RequestOutcome::Timeout => "timeout".into(),
            RequestOutcome::ConnectError => "connect_error".into(),
            RequestOutcome::Cancelled => "cancelled".into(),
            RequestOutcome::Abandoned => "abandoned".into(),
            RequestOutcome::Incomplete => "incomplete".into(),
            RequestOutcome::ClientError => "client_error".into(),
        }
    }
}

/// The timeout that a request ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Making a connection.
    Connect,
    /// From sending to the first token.
    FirstToken,
    /// Between two tokens, or from the last to the end.
    TokenGap,
    /// The whole request.
    Request,
}

impl Limit {
    /// The name of the timeout in a workload and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Connect => "connect",
            Limit::FirstToken => "firstToken",
            Limit::TokenGap => "tokenGap",
            Limit::Request => "request",
        }
    }
}

/// Why a request got no connection, or no answer on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Nobody listens there.
    Refused,
    /// The server broke the connection.
    Reset,
    /// The server ended a connection without a byte of an answer: a new one, or a kept one that had had the request for
    /// longer than a race of keep-alive takes.
    Closed,
    /// It ended a kept one so, more often than keep-alive explains.
    KeptClosed,
    /// No way leads to the address.
    Unreachable,
    /// The name has no address, or none that may be called.
    Address,
    /// The system gave up waiting.
    TimedOut,
    /// TLS failed.
    Tls,
    /// HTTP/2 failed.
    Http2,
    /// The launcher has no file left.
    Files,
    /// Its machine has no port left.
    Ports,
    /// Another one.
    Other,
}

impl Cause {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Refused => "refused",
            Cause::Reset => "reset",
            Cause::Closed => "closed",
            Cause::KeptClosed => "keptClosed",
            Cause::Unreachable => "unreachable",
            Cause::Address => "address",
            Cause::TimedOut => "timedOut",
            Cause::Tls => "tls",
            Cause::Http2 => "http2",
            Cause::Files => "files",
            Cause::Ports => "ports",
            Cause::Other => "other",
        }
    }

    /// The outcome that it explains.
    pub fn outcome(self) -> RequestOutcome {
        match self {
            Cause::Files | Cause::Ports => RequestOutcome::ClientError,
            _ => RequestOutcome::ConnectError,
        }
    }

    /// Of an error of the system.
    pub(crate) fn from_io(error: &io::Error) -> Cause {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Cause::Refused,
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
                Cause::Reset
            }
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Cause::Unreachable,
            io::ErrorKind::TimedOut => Cause::TimedOut,
            _ => Cause::Other,
        }
    }
}

/// One request. Times count from the start of the run, on one monotonic clock.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRecord {
    /// Index of its stage in the workload.
    pub stage: u32,
    /// Its number in the stage, from 0.
    pub number: u64,
    /// When the schedule wanted it sent; for closed-loop load, when its slot became free.
    pub scheduled: Duration,
    /// When it was handed to the socket; `None` if that never happened.
    pub sent: Option<Duration>,
    /// How long it waited in the client for others to end; `None` where the load does not bound how many are under way.
    pub permit_wait: Option<Duration>,
    /// The first event with content.
    pub first_token: Option<Duration>,
    /// The last event with content.
    pub last_token: Option<Duration>,
    /// When it was over, whatever became of it.
    pub ended: Duration,
    /// What became of it.
    pub outcome: RequestOutcome,
    /// Prompt length that was asked of the prompt generator, in tokens; `None` for mock prompts.
    pub requested_input_tokens: Option<u32>,
    /// Output length that was asked of the server, in tokens; `None` where it decides.
    pub requested_output_tokens: Option<u32>,
    /// Prompt length by the server's usage.
    pub input_tokens: Option<u32>,
    /// Of the prompt, what the server had in its prefix cache by its usage.
    pub cached_tokens: Option<u32>,
    /// Output length by the server's usage, where that can be.
    pub output_tokens: Option<u32>,
    /// Events that held content. Equal to the output tokens only where the server sends each token in its own event.
    pub content_events: u32,
}

impl RequestRecord {
    /// How late it left, less the time that it waited for room.
    pub fn send_lag(&self) -> Option<Duration> {
        self.sent.map(|sent| sent.saturating_sub(self.scheduled).saturating_sub(self.permit_wait.unwrap_or_default()))
    }

    /// Output length: the server's usage, else the number of content events.
    pub fn osl(&self) -> u32 {
        self.output_tokens.unwrap_or(self.content_events)
    }

    /// First token - scheduled.
    pub fn ttft_scheduled(&self) -> Option<Duration> {
        Some(self.first_token?.saturating_sub(self.scheduled))
    }

    /// First token - sent.
    pub fn ttft_sent(&self) -> Option<Duration> {
        Some(self.first_token?.saturating_sub(self.sent.unwrap_or(self.scheduled)))
    }

    /// Last token - scheduled.
    pub fn latency_scheduled(&self) -> Option<Duration> {
        Some(self.last_token?.saturating_sub(self.scheduled))
    }

    /// Last token - sent.
    pub fn latency_sent(&self) -> Option<Duration> {
        Some(self.last_token?.saturating_sub(self.sent.unwrap_or(self.scheduled)))
    }

    /// Latency from sending / OSL; `None` without a token.
    pub fn ntpot(&self) -> Option<Duration> {
        let osl = self.osl();
        self.latency_sent().filter(|_| osl > 0).map(|it| it / osl)
    }

    /// (last token - first token) / (OSL - 1); `None` below two tokens.
    pub fn tpot(&self) -> Option<Duration> {
        let gaps = self.osl().checked_sub(1).filter(|gaps| *gaps > 0)?;
        Some(self.last_token?.saturating_sub(self.first_token?) / gaps)
    }

    /// The sample of a LoadGen test that this request was; `None` where it failed. LoadGen counts from the scheduled time to the
    /// end of the answer.
    pub fn completed_sample(&self) -> Option<CompletedSample> {
        self.outcome.is_complete().then(|| CompletedSample {
            latency_ns: nanos(self.ended.saturating_sub(self.scheduled)),
            first_token_ns: self.first_token.map(|it| nanos(it.saturating_sub(self.scheduled))),
            output_tokens: i64::from(self.osl()),
        })
    }
}

/// LoadGen's signed nanoseconds.
pub fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}
