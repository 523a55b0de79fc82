//! Section `report`: only goodput affects the load.

use super::{
    api::ApiSection,
    values::{MAX_CONSTRAINT_SECONDS, span},
};
use crate::{
    reader::{Section, ValueType},
    workload::Goodput,
};

/// Reads goodput. The run decides which reports are written.
pub(super) fn read(section: Option<Section>, call: &ApiSection) -> Goodput {
    let mut goodput = call.goodput.clone();
    let Some(section) = section else { return goodput };
    if let Some(files) = section.section("request_lifecycle") {
        files.all_ignored(&[
            ("summary", ValueType::Bool),
            ("per_stage", ValueType::Bool),
            ("per_request", ValueType::Bool),
            ("per_adapter", ValueType::Bool),
            ("per_adapter_stage", ValueType::Bool),
            ("use_server_output_tokens", ValueType::Bool),
            ("max_error_messages", ValueType::Number),
            ("per_request_fields", ValueType::List),
            ("metrics_only", ValueType::Bool),
        ]);
        if files.ignored("percentiles", ValueType::List) {
            files.notice("percentiles", "is not used: the report has a fixed set of percentiles");
        }
        files.finish();
    }
    for key in ["prometheus", "session_lifecycle"] {
        if let Some(files) = section.section(key) {
            files.all_ignored(&[
                ("summary", ValueType::Bool),
                ("per_stage", ValueType::Bool),
                ("per_session", ValueType::Bool),
            ]);
            files.finish();
        }
    }
    if let Some(section) = section.section("goodput") {
        if let Some(constraints) = section.section("constraints") {
            bound(&mut goodput, constraints, call.streaming);
        }
        section.finish();
    }
    section.finish();
    goodput
}

/// Reads the latency limits that a good request must meet.
fn bound(goodput: &mut Goodput, constraints: Section, streaming: bool) {
    let Goodput { ttft, tpot, itl, ntpot, latency } = goodput;
    for (key, bound, needs_streaming) in [
        ("ttft", ttft, true),
        ("tpot", tpot, true),
        ("itl", itl, true),
        ("ntpot", ntpot, false),
        ("request_latency", latency, false),
    ] {
        let seconds = constraints.positive_number(key, MAX_CONSTRAINT_SECONDS);
        *bound = seconds.and_then(span).or(*bound);
        if seconds.is_some() && needs_streaming && !streaming {
            constraints.notice(key, "cannot be met by any request: it is not measured while api.streaming is off");
        }
    }
    constraints.finish();
}
