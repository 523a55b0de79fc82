//! The record of one request, and its outcome.

use std::{
    io,
    num::{NonZeroU16, NonZeroU32},
    time::Duration,
};

use serde::Serialize;
use workload_profiles::workload::Goodput;

use crate::{
    latency_origin::LatencyOrigin,
    wire::{Reader, Wire, WireError, Writer, fields, variants},
};

/// How a request ended. Every request that was due has exactly one outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestOutcome {
    /// A complete answer with content.
    Ok,
    /// A complete answer without content.
    Empty,
    /// A status of 400 or above, or an error object instead of an answer.
    HttpError(u16),
    /// The stream ended early, contained an error, or contained data that is not an event.
    BrokenStream,
    /// The request, or a part of it, exceeded a timeout: see [`Limit`].
    Timeout,
    /// No connection could be opened, or it broke before the status line.
    ConnectError,
    /// The run was stopped while the request was in flight or not yet sent.
    Cancelled,
    /// The client disconnected early, as the profile requires for some requests.
    Abandoned,
    /// The stage or its window ended, as the profile specifies, while the request was in flight or not yet sent.
    Incomplete,
    /// The request was not sent, because an earlier request of its session had failed.
    Skipped,
    /// The launcher itself could not send it.
    ClientError,
}

impl RequestOutcome {
    /// Whether the request's latencies are part of the figures.
    pub fn is_success(self) -> bool {
        self == RequestOutcome::Ok
    }

    /// Whether the answer is complete, with or without content.
    pub fn is_complete(self) -> bool {
        matches!(self, RequestOutcome::Ok | RequestOutcome::Empty)
    }

    /// Whether the outcome shows how the server behaved: the request either succeeded or failed.
    pub fn is_decided(self) -> bool {
        !matches!(
            self,
            RequestOutcome::Cancelled
                | RequestOutcome::Abandoned
                | RequestOutcome::Incomplete
                | RequestOutcome::Skipped
        )
    }

    /// Returns the name in reports, such as `ok`, `http_503` or `timeout`.
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
            RequestOutcome::Skipped => "skipped".into(),
            RequestOutcome::ClientError => "client_error".into(),
        }
    }
}

/// The outcomes whose name does not depend on a status.
const PLAIN: [RequestOutcome; 10] = [
    RequestOutcome::Ok,
    RequestOutcome::Empty,
    RequestOutcome::BrokenStream,
    RequestOutcome::Timeout,
    RequestOutcome::ConnectError,
    RequestOutcome::Cancelled,
    RequestOutcome::Abandoned,
    RequestOutcome::Incomplete,
    RequestOutcome::Skipped,
    RequestOutcome::ClientError,
];

impl RequestOutcome {
    /// Returns the outcome with a name from [`RequestOutcome::name`].
    pub fn from_name(name: &str) -> Option<RequestOutcome> {
        match name.strip_prefix("http_") {
            Some(code) => code.parse().ok().map(RequestOutcome::HttpError),
            None => PLAIN.into_iter().find(|it| it.name() == name),
        }
    }
}

/// The timeout that ended a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Opening a connection.
    Connect,
    /// From sending to the first token.
    FirstToken,
    /// Between two tokens, or between the last token and the end of the answer.
    TokenGap,
    /// The whole request.
    Request,
}

impl Limit {
    /// All timeouts, in the order in which a request can exceed them.
    pub const ALL: [Limit; 4] = [Limit::Connect, Limit::FirstToken, Limit::TokenGap, Limit::Request];

    /// Returns the name of the timeout in workloads and reports.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Connect => "connect",
            Limit::FirstToken => "firstToken",
            Limit::TokenGap => "tokenGap",
            Limit::Request => "request",
        }
    }
}

/// The reason why a request got no connection, or no response on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// No process listens at the address.
    Refused,
    /// The server reset the connection.
    Reset,
    /// The server closed a connection without a byte of a response. The connection was either new, or kept but closed too long after the request was
    /// sent for a keep-alive timeout to be the cause.
    Closed,
    /// The server closed kept connections without a response more often than idle timeouts can explain.
    KeptClosed,
    /// No route leads to the address.
    Unreachable,
    /// The host name has no address, or no address that the launcher may connect to.
    Address,
    /// The operating system's timeout passed.
    TimedOut,
    Tls,
    Http2,
    /// The launcher has no free file descriptors.
    Files,
    /// The launcher's machine has no free ports.
    Ports,
    Other,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Cause; 12] = [
        Cause::Refused,
        Cause::Reset,
        Cause::Closed,
        Cause::KeptClosed,
        Cause::Unreachable,
        Cause::Address,
        Cause::TimedOut,
        Cause::Tls,
        Cause::Http2,
        Cause::Files,
        Cause::Ports,
        Cause::Other,
    ];

    /// Returns the name in reports.
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

    pub fn outcome(self) -> RequestOutcome {
        match self {
            Cause::Files | Cause::Ports => RequestOutcome::ClientError,
            _ => RequestOutcome::ConnectError,
        }
    }

    /// Classifies a socket error.
    pub fn from_io(error: &io::Error) -> Cause {
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

/// The position of a request in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// Number of the session in its stage, from 0.
    pub session: u32,
    /// Number of the request in its session, from 1.
    pub number: NonZeroU32,
}

/// An index in a short list, such as the list of traffic classes. It is stored as index plus one, so that an `Option` of it takes no more
/// space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListIndex(NonZeroU16);

impl ListIndex {
    /// Returns `None` for an index above 65534.
    pub fn new(index: usize) -> Option<ListIndex> {
        u16::try_from(index).ok()?.checked_add(1).and_then(NonZeroU16::new).map(ListIndex)
    }

    /// Returns the index, from 0.
    pub fn get(self) -> usize {
        usize::from(self.0.get()) - 1
    }
}

/// The record of one request. Times are from the start of the run, on one monotonic clock.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRecord {
    /// Index of the stage in the workload.
    pub stage: u32,
    /// Number of the request in its stage, from 0. If the load starts whole sessions: the number of the session.
    pub number: u64,
    /// Index of the traffic class in the workload; `None` if there are no classes.
    pub class: Option<ListIndex>,
    /// The position of the request in its session; `None` if it belongs to no session.
    pub turn: Option<Turn>,
    /// Index of the server that was chosen for the request; `None` if there is only one server, or if none was chosen. The choice is made
    /// before a connection is opened.
    pub replica: Option<ListIndex>,
    /// When the schedule wanted the request to be sent. In a closed loop: when its slot became free. A turn of a session is due at the
    /// earliest when its predecessors have ended and its think time has passed.
    pub scheduled: Duration,
    /// When the request was handed to the socket; `None` if that never happened.
    pub sent: Option<Duration>,
    /// How long the request waited for its permit; `None` if the load does not limit concurrency.
    pub permit_wait: Option<Duration>,
    /// When the first event with content arrived.
    pub first_token: Option<Duration>,
    /// When the last event with content arrived.
    pub last_token: Option<Duration>,
    /// When the request ended, whatever its outcome.
    pub ended: Duration,
    pub outcome: RequestOutcome,
    /// Requested prompt length in tokens; `None` for mock prompts.
    pub requested_input_tokens: Option<u32>,
    /// Requested output length in tokens; `None` if the server decides.
    pub requested_output_tokens: Option<u32>,
    /// Prompt length in tokens, according to the server's usage.
    pub input_tokens: Option<u32>,
    /// Number of prompt tokens found in the server's prefix cache, according to its usage.
    pub cached_tokens: Option<u32>,
    /// Output length in tokens, according to the server's usage; `None` if the usage is missing or impossible.
    pub output_tokens: Option<u32>,
    /// Number of events with content. It equals the number of output tokens only if the server sends each token in a separate event.
    pub content_events: u32,
}

/// The size is limited, because a long load keeps many millions of records.
const _: () = assert!(size_of::<RequestRecord>() <= 168);

impl RequestRecord {
    /// Returns how late the request was sent, not counting its wait for a permit.
    pub fn send_lag(&self) -> Option<Duration> {
        self.sent.map(|sent| sent.saturating_sub(self.scheduled).saturating_sub(self.permit_wait.unwrap_or_default()))
    }

    /// Returns the output length in tokens: from the server's usage, else the number of events with content.
    pub fn osl(&self) -> u32 {
        self.output_tokens.unwrap_or(self.content_events)
    }

    /// Returns the time from which latencies are counted.
    pub fn start(&self, origin: LatencyOrigin) -> Duration {
        match origin {
            LatencyOrigin::Scheduled => self.scheduled,
            LatencyOrigin::Sent => self.sent.unwrap_or(self.scheduled),
        }
    }

    /// Returns the time to first token: the time of the first token minus the start.
    pub fn ttft(&self, origin: LatencyOrigin) -> Option<Duration> {
        Some(self.first_token?.saturating_sub(self.start(origin)))
    }

    /// Returns the latency: the time of the last token minus the start.
    pub fn latency(&self, origin: LatencyOrigin) -> Option<Duration> {
        Some(self.last_token?.saturating_sub(self.start(origin)))
    }

    /// Returns the time from the scheduled time to the first token.
    pub fn ttft_scheduled(&self) -> Option<Duration> {
        self.ttft(LatencyOrigin::Scheduled)
    }

    /// Returns the time from sending to the first token.
    pub fn ttft_sent(&self) -> Option<Duration> {
        self.ttft(LatencyOrigin::Sent)
    }

    /// Returns the time from the scheduled time to the last token.
    pub fn latency_scheduled(&self) -> Option<Duration> {
        self.latency(LatencyOrigin::Scheduled)
    }

    /// Returns the time from sending to the last token.
    pub fn latency_sent(&self) -> Option<Duration> {
        self.latency(LatencyOrigin::Sent)
    }

    /// Returns NTPOT: latency from sending / OSL; `None` if there is no token.
    pub fn ntpot(&self) -> Option<Duration> {
        let osl = self.osl();
        self.latency_sent().filter(|_| osl > 0).map(|it| it / osl)
    }

    /// Returns NTPOT by llm-d-benchmark's formula: TTFT / OSL + TPOT, from sending; `None` if there are fewer than two tokens. It exceeds
    /// [`RequestRecord::ntpot`] by TPOT / OSL.
    pub fn ntpot_of_llmd(&self) -> Option<Duration> {
        let tpot = self.tpot()?;
        Some(self.ttft_sent()? / self.osl() + tpot)
    }

    /// Returns the number of gaps between tokens: OSL - 1; `None` if there are fewer than two tokens.
    pub fn gaps(&self) -> Option<u32> {
        self.osl().checked_sub(1).filter(|gaps| *gaps > 0)
    }

    /// Returns TPOT: (last token - first token) / (OSL - 1); `None` if there are fewer than two tokens.
    pub fn tpot(&self) -> Option<Duration> {
        let gaps = self.gaps()?;
        Some(self.last_token?.saturating_sub(self.first_token?) / gaps)
    }

    /// Whether the request meets all limits except that on ITL, which a record does not contain. If a figure is missing, its limit is not met.
    pub fn meets(&self, goodput: &Goodput) -> bool {
        let figures = [
            (goodput.ttft, self.ttft_scheduled()),
            (goodput.tpot, self.tpot()),
            (goodput.ntpot, self.ntpot()),
            (goodput.latency, self.latency_scheduled()),
        ];
        figures.into_iter().all(|(limit, found)| limit.is_none_or(|limit| found.is_some_and(|it| it <= limit.0)))
    }
}

impl Wire for RequestOutcome {
    fn write(&self, to: &mut Writer) {
        let code: u8 = match self {
            RequestOutcome::Ok => 0,
            RequestOutcome::Empty => 1,
            RequestOutcome::HttpError(_) => 2,
            RequestOutcome::BrokenStream => 3,
            RequestOutcome::Timeout => 4,
            RequestOutcome::ConnectError => 5,
            RequestOutcome::Cancelled => 6,
            RequestOutcome::Abandoned => 7,
            RequestOutcome::Incomplete => 8,
            RequestOutcome::Skipped => 9,
            RequestOutcome::ClientError => 10,
        };
        code.write(to);
        if let RequestOutcome::HttpError(status) = self {
            status.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<RequestOutcome, WireError> {
        Ok(match u8::read(from)? {
            0 => RequestOutcome::Ok,
            1 => RequestOutcome::Empty,
            2 => RequestOutcome::HttpError(u16::read(from)?),
            3 => RequestOutcome::BrokenStream,
            4 => RequestOutcome::Timeout,
            5 => RequestOutcome::ConnectError,
            6 => RequestOutcome::Cancelled,
            7 => RequestOutcome::Abandoned,
            8 => RequestOutcome::Incomplete,
            9 => RequestOutcome::Skipped,
            10 => RequestOutcome::ClientError,
            _ => return Err(WireError::Value { what: "outcome" }),
        })
    }
}

variants!(Limit { Connect = 0, FirstToken = 1, TokenGap = 2, Request = 3 });

variants!(Cause {
    Refused = 0,
    Reset = 1,
    Closed = 2,
    KeptClosed = 3,
    Unreachable = 4,
    Address = 5,
    TimedOut = 6,
    Tls = 7,
    Http2 = 8,
    Files = 9,
    Ports = 10,
    Other = 11,
});

fields!(Turn { session, number });

impl Wire for ListIndex {
    fn write(&self, to: &mut Writer) {
        self.0.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<ListIndex, WireError> {
        NonZeroU16::read(from).map(ListIndex)
    }
}

impl RequestRecord {
    /// Whether no time exceeds the 584 years that 64 bits of nanoseconds can represent, so that sums of times cannot overflow.
    fn has_times_of_a_clock(&self) -> bool {
        let times =
            [Some(self.scheduled), self.sent, self.permit_wait, self.first_token, self.last_token, Some(self.ended)];
        times.into_iter().flatten().all(|it| u64::try_from(it.as_nanos()).is_ok())
    }
}

fields!(RequestRecord {
    stage,
    number,
    class,
    turn,
    replica,
    scheduled,
    sent,
    permit_wait,
    first_token,
    last_token,
    ended,
    outcome,
    requested_input_tokens,
    requested_output_tokens,
    input_tokens,
    cached_tokens,
    output_tokens,
    content_events,
} if RequestRecord::has_times_of_a_clock, "time of a record");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_is_found_by_its_name() {
        for outcome in PLAIN.into_iter().chain([400, 503].map(RequestOutcome::HttpError)) {
            assert_eq!(RequestOutcome::from_name(&outcome.name()), Some(outcome));
        }
        for name in ["", "http_", "http_x", "OK", "http_99999"] {
            assert_eq!(RequestOutcome::from_name(name), None, "{name}");
        }
    }
}
