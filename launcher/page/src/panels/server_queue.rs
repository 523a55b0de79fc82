//! The queue of the servers over time: running, waiting and preempted requests. A preempted request was removed from the KV cache and must be
//! computed again.

use charts::Tone;
use document::ReportDocument;

use super::{
    Content,
    plot::quantity,
    server_series::{self, level, of_server, over_time},
};

pub(super) fn content(document: &ReportDocument) -> Content {
    let server = of_server(document)?;
    let queue = over_time(
        document,
        "server-queue",
        "Running and waiting requests",
        "Requests that run and wait in the servers, summed over all servers. Waiting requests increase TTFT.",
        quantity("Requests", ""),
        [
            level(server, "running", Tone::Main, &server.running_requests),
            level(server, "waiting", Tone::Category(1), &server.waiting_requests),
        ],
    );
    let preemptions = over_time(
        document,
        "preemptions",
        "Preemptions",
        "Requests per second that lost their KV cache to other requests: their tokens are computed again, which increases latency.",
        quantity("Preemptions", "requests/s"),
        [level(server, "preemptions", Tone::Main, &server.preemptions_per_second)],
    );
    server_series::content([queue, preemptions], "running or waiting requests")
}
