//! What the terms of the page mean, and where their formulas stand.

use serde::Serialize;

/// A term of the page.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Definition {
    pub(super) term: &'static str,
    pub(super) meaning: &'static str,
    /// The section of docs/metrics.md with the formula.
    pub(super) section: &'static str,
}

pub(super) fn definitions() -> Vec<Definition> {
    let definition = |term, meaning, section| Definition { term, meaning, section };
    vec![
        definition(
            "TTFT",
            "time to the first token: from scheduled for open-loop load, from sending for a closed loop",
            "Latencies",
        ),
        definition("TPOT", "(last token - first token) / (OSL - 1), one per request", "Latencies"),
        definition("ITL", "time between two tokens, all gaps of all requests", "Latencies"),
        definition("Latency", "time to the last token, by the same clock as TTFT", "Latencies"),
        definition("NTPOT", "(last token - sent) / OSL", "Latencies"),
        definition("ISL, OSL", "length of the prompt and of the answer in tokens", "Lengths"),
        definition("Errors", "failed / (succeeded + failed)", "Counts"),
        definition("Requests/s, tokens/s", "what succeeded, divided by the time of all requests", "Rates"),
        definition("Interactivity", "output tokens per second for one user: the median of 1/TPOT", "Interactivity"),
        definition("Goodput", "requests per second that met every goal of the profile", "Goodput"),
        definition("95 % interval", "95 of 100 such intervals hold the true value of the stage", "Uncertainty"),
        definition(
            "Steady window",
            "what follows the warm-up that was found, where figures are judged for a drift",
            "Uncertainty",
        ),
        definition(
            "Send lag",
            "sent - scheduled, less a wait for a place of maxConcurrency: the client's own delay",
            "Latencies",
        ),
        definition("Knee", "the load with the largest requests per second / mean latency", "report-page.md"),
        definition("KV cache, prefix hits, preemptions", "as the server's own metrics say", "Server metrics"),
        definition(
            "Cost",
            "price of the accelerators in the time of the load / output tokens",
            "Rates per accelerator, and cost",
        ),
    ]
}
