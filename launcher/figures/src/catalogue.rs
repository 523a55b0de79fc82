//! The rows of the catalogue, in the order of the variants of [`Figure`].

use crds::benchmark_run::Metric;

use crate::{
    Basis, Family, Figure, Row,
    Unit::{self, Milliseconds, Money, PerSecond, Share, Tokens, TokensPerSecond},
    Way::{self, Down, Up},
};

pub(super) const CATALOGUE: [Row; 25] = [
    row(Figure::GoodputRequestsPerSecond, "goodputRequestsPerSecond", "goodput", (PerSecond, Up), Family::Rates)
        .bounded_by(Metric::GoodputRequestsPerSecond)
        .is("requests that met every goal of the profile, per second"),
    row(Figure::RequestsPerSecond, "requestsPerSecond", "requests", (PerSecond, Up), Family::Rates)
        .bounded_by(Metric::RequestsPerSecond)
        .is("requests that succeeded, per second"),
    row(Figure::InputTokensPerSecond, "inputTokensPerSecond", "input tokens", (PerSecond, Up), Family::Rates)
        .by(Basis::Tokens)
        .is("prompt tokens of requests that succeeded, per second"),
    row(Figure::OutputTokensPerSecond, "outputTokensPerSecond", "output tokens", (PerSecond, Up), Family::Rates)
        .by(Basis::Tokens)
        .bounded_by(Metric::OutputTokensPerSecond)
        .is("output tokens of requests that succeeded, per second"),
    row(Figure::TotalTokensPerSecond, "totalTokensPerSecond", "total tokens", (PerSecond, Up), Family::Rates)
        .by(Basis::Tokens)
        .bounded_by(Metric::TotalTokensPerSecond)
        .is("prompt and output tokens of requests that succeeded, per second"),
    row(Figure::Ttft, "ttft", "TTFT", (Milliseconds, Down), Family::Ttft)
        .by(Basis::Clock)
        .bounded_by(Metric::Ttft)
        .is("Time to the first token. For open-loop load it counts from the scheduled time, for closed-loop load from the time of sending"),
    row(Figure::TtftSent, "ttftSent", "TTFT from sent", (Milliseconds, Down), Family::Ttft)
        .is("time to the first token from sending, whatever the load is"),
    row(Figure::Tpot, "tpot", "TPOT", (Milliseconds, Down), Family::Decode)
        .by(Basis::Tokens)
        .bounded_by(Metric::Tpot)
        .is("Time per output token after the first: (last token - first token) / (OSL - 1), one value per request"),
    row(Figure::Itl, "itl", "ITL", (Milliseconds, Down), Family::Decode)
        .by(Basis::Itl)
        .bounded_by(Metric::Itl)
        .is("Time between two tokens of a request, over all requests: each gap between content events, divided by the number of tokens in the gap if the server reports more than one"),
    row(Figure::EventGap, "eventGap", "gap between events", (Milliseconds, Down), Family::Decode)
        .is("gap between two content events of a request, over all requests, not divided by tokens"),
    row(Figure::Ntpot, "ntpot", "NTPOT", (Milliseconds, Down), Family::Request)
        .by(Basis::Tokens)
        .bounded_by(Metric::Ntpot)
        .is("latency from sending / OSL, one value per request"),
    row(Figure::NtpotOfLlmd, "ntpotOfLlmd", "NTPOT as in llm-d", (Milliseconds, Down), Family::Request)
        .by(Basis::Tokens)
        .is("TTFT from sending / OSL + TPOT, as llm-d-benchmark defines NTPOT"),
    row(Figure::Latency, "latency", "latency", (Milliseconds, Down), Family::Request)
        .by(Basis::Clock)
        .bounded_by(Metric::Latency)
        .is("Time to the last token, counted like TTFT"),
    row(Figure::LatencySent, "latencySent", "latency from sent", (Milliseconds, Down), Family::Request)
        .is("time to the last token from sending, whatever the load is"),
    row(Figure::SendLag, "sendLag", "send lag", (Milliseconds, Down), Family::Request)
        .bounded_by(Metric::SendLag)
        .is("sent - scheduled, less the permit wait: the launcher's own delay"),
    row(Figure::PermitWait, "permitWait", "wait for a permit", (Milliseconds, Down), Family::Request)
        .is("how long a request waited because the maximum number of requests in flight was reached"),
    row(Figure::Isl, "isl", "ISL", (Tokens, Down), Family::Request)
        .by(Basis::Tokens)
        .is("length of a prompt in tokens, as the usage of its answer reports it"),
    row(Figure::Osl, "osl", "OSL", (Tokens, Up), Family::Request)
        .by(Basis::Tokens)
        .is("length of an answer in tokens"),
    row(Figure::GoodputShare, "goodputShare", "good share", (Share, Up), Family::Rates)
        .bounded_by(Metric::GoodputShare)
        .is("share of due requests that met every goal of the profile"),
    row(Figure::ErrorRatio, "errorRatio", "errors", (Share, Down), Family::Errors)
        .bounded_by(Metric::ErrorRatio)
        .is("failed / (succeeded + failed)"),
    row(Figure::CachedShare, "cachedShare", "prompt tokens cached", (Share, Up), Family::Ttft)
        .by(Basis::Tokens)
        .is("share of prompt tokens that came from the server's prefix cache, by the usage of the answers"),
    row(
        Figure::InverseOfTpotP90,
        "interactivity.inverseOfTpotP90",
        "interactivity 1/TPOT p90",
        (TokensPerSecond, Up),
        Family::Decode,
    )
    .by(Basis::Tokens)
    .is("1000 / p90 of TPOT in milliseconds"),
    row(
        Figure::MedianOfInverseTpot,
        "interactivity.medianOfInverseTpot",
        "interactivity 1/TPOT p50",
        (TokensPerSecond, Up),
        Family::Decode,
    )
    .by(Basis::Tokens)
    .is("median of 1000 / TPOT in milliseconds"),
    row(
        Figure::InverseOfNtpotP90,
        "interactivity.inverseOfNtpotP90",
        "interactivity 1/NTPOT p90",
        (TokensPerSecond, Up),
        Family::Request,
    )
    .by(Basis::Tokens)
    .is("1000 / p90 of NTPOT in milliseconds"),
    row(
        Figure::CostPerMillionOutputTokens,
        "costPerMillionOutputTokens",
        "cost of a million output tokens",
        (Money, Down),
        Family::Rates,
    )
    .by(Basis::Tokens)
    .is("price of the accelerators for the time that a million output tokens take"),
];

const fn row(
    figure: Figure,
    name: &'static str,
    title: &'static str,
    (unit, better): (Unit, Way),
    family: Family,
) -> Row {
    Row { figure, name, title, unit, better, family, basis: Basis::None, metric: None, meaning: "" }
}

impl Row {
    const fn by(self, basis: Basis) -> Row {
        Row { basis, ..self }
    }

    const fn bounded_by(self, metric: Metric) -> Row {
        Row { metric: Some(metric), ..self }
    }

    const fn is(self, meaning: &'static str) -> Row {
        Row { meaning, ..self }
    }
}
