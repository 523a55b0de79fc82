//! The panels of a page, which show the content of `report.json` as figures.
//!
//! The set of panels and its order never change, so that the pages of two runs can be compared side by side. A panel without data explains why. If
//! the reader can change that, it also explains how to get data in the next run. Only a search has one panel more, in front of the others.

mod bins;
mod by_load;
mod concurrency;
mod cost;
mod distributions;
mod gpu;
mod interactivity;
mod itl_heat;
mod kv_cache;
mod latencies_by_load;
mod latencies_over_time;
mod load_levels;
mod offered_load;
mod outcomes;
mod panel;
mod plot;
mod prefix_hits;
mod requests;
mod search;
mod server_queue;
mod server_series;
mod stage_times;
#[cfg(test)]
mod tests;
mod tokens;

use document::ReportDocument;

pub(crate) use load_levels::LoadNames;
pub use panel::{Content, Panel};

struct Kind {
    id: &'static str,
    title: &'static str,
    question: &'static str,
    content: fn(&ReportDocument) -> Content,
}

const KINDS: [Kind; 15] = [
    Kind {
        id: "interactivity",
        title: "Throughput against interactivity",
        question: "How many tokens does the server generate, and how fast does one user get them?",
        content: interactivity::content,
    },
    Kind {
        id: "load",
        title: "Latency against load",
        question: "How does latency grow with the load, and from which load on does more load only add waiting?",
        content: latencies_by_load::content,
    },
    Kind {
        id: "distributions",
        title: "Distributions of TTFT, ITL and latency",
        question: "What share of the requests was at least this fast?",
        content: distributions::content,
    },
    Kind {
        id: "latency-over-time",
        title: "TTFT and latency over time",
        question: "Was the server in a steady state while it was measured?",
        content: latencies_over_time::content,
    },
    Kind {
        id: "itl-heat",
        title: "ITL over time",
        question: "Did tokens come evenly, or did some of them wait?",
        content: itl_heat::content,
    },
    Kind {
        id: "offered-load",
        title: "Planned against delivered load",
        question: "Did the server get the requested load at the requested times?",
        content: offered_load::content,
    },
    Kind {
        id: "requests",
        title: "Requests on a time line",
        question: "Where did single requests spend their time: waiting to be sent, until the first token, or until the last token?",
        content: requests::content,
    },
    Kind {
        id: "outcomes",
        title: "Outcomes over time",
        question: "When did requests fail, and how?",
        content: outcomes::content,
    },
    Kind {
        id: "concurrency",
        title: "Requests in flight",
        question: "How many requests were in flight, as the client and as the server count them?",
        content: concurrency::content,
    },
    Kind {
        id: "server-queue",
        title: "Queue of the server",
        question: "Did requests wait in the server, or lose their place in its cache?",
        content: server_queue::content,
    },
    Kind {
        id: "kv-cache",
        title: "KV cache",
        question: "How full was the KV cache of the server?",
        content: kv_cache::content,
    },
    Kind {
        id: "prefix-hits",
        title: "Prefix cache",
        question: "What share of the prompt tokens did the server have in its cache?",
        content: prefix_hits::content,
    },
    Kind {
        id: "tokens",
        title: "Tokens by source",
        question: "Which tokens were computed, cached and generated, and do server and client agree?",
        content: tokens::content,
    },
    Kind {
        id: "gpu",
        title: "GPU use and power",
        question: "How busy were the GPUs, and how much power did they draw?",
        content: gpu::content,
    },
    Kind {
        id: "cost",
        title: "Cost against interactivity",
        question: "What does a million output tokens cost at a given speed for one user?",
        content: cost::content,
    },
];

/// The panel of a search.
const SEARCH: Kind = Kind {
    id: "search",
    title: "Trials of the search",
    question: "How close is each objective to its limit at each load, and which loads were tried?",
    content: search::content,
};

/// Returns the panels of a run: always the same ones, in the same order. A search has one more.
pub fn panels(document: &ReportDocument) -> Vec<Panel> {
    let search = document.search.is_some().then_some(&SEARCH);
    search
        .into_iter()
        .chain(&KINDS)
        .map(|it| Panel { id: it.id, title: it.title, question: it.question, content: (it.content)(document) })
        .collect()
}
