//! Explains the terms of the page, and names the section of the docs with each formula.

use figures::Figure;
use serde::Serialize;

use crate::text;

/// A term and its meaning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Definition {
    pub(super) term: String,
    pub(super) meaning: String,
    /// The section of docs/metrics.md that has the formula.
    pub(super) section: &'static str,
}

pub(super) fn definitions() -> Vec<Definition> {
    let definition = |term: &str, meaning: &str, section| Definition {
        term: term.to_owned(),
        meaning: text::capitalized(meaning),
        section,
    };
    let of = |figure: Figure, section| definition(&text::heading(figure), figure.row().meaning, section);
    vec![
        of(Figure::Ttft, "Latencies"),
        of(Figure::Tpot, "Latencies"),
        of(Figure::Itl, "Latencies"),
        of(Figure::Latency, "Latencies"),
        of(Figure::Ntpot, "Latencies"),
        of(Figure::Isl, "Lengths"),
        of(Figure::Osl, "Lengths"),
        of(Figure::ErrorRatio, "Counts"),
        of(Figure::RequestsPerSecond, "Rates"),
        of(Figure::OutputTokensPerSecond, "Rates"),
        definition("Interactivity", "output tokens per second for one user: the median of 1/TPOT", "Interactivity"),
        of(Figure::GoodputRequestsPerSecond, "Goodput"),
        definition("95 % interval", "95 of 100 such intervals contain the true value of the stage", "Uncertainty"),
        definition(
            "Steady window",
            "the time after the detected warm-up, in which figures are checked for drift",
            "Uncertainty",
        ),
        of(Figure::SendLag, "Latencies"),
        definition("Knee", "the load with the largest ratio of requests per second to mean latency", "report-page.md"),
        definition("KV cache, prefix hits, preemptions", "as the server's own metrics say", "Server metrics"),
        definition(
            "Cost",
            "price of the accelerators in the time of the load / output tokens",
            "Rates per accelerator, and cost",
        ),
    ]
}
