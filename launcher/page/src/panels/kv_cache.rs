//! The usage of the servers' KV cache over time.

use charts::Tone;
use document::ReportDocument;

use super::{
    Content,
    plot::share,
    server_series::{self, level, of_server, over_time},
};

pub(super) fn content(document: &ReportDocument) -> Content {
    let server = of_server(document)?;
    let usage = over_time(
        document,
        "kv-cache",
        "KV cache in use",
        "The share of the KV cache that is in use, averaged over the servers. Near 100 % new requests wait and running ones are preempted.",
        share("KV cache in use"),
        [level(server, "in use", Tone::Main, &server.kv_cache_usage)],
    );
    server_series::content([usage], "the use of the KV cache")
}
