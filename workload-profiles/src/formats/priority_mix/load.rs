//! Section `load`.

use crds::units::RequestRate;

use crate::{
    formats::common::{
        bounds::{MAX_CONCURRENCY, MAX_PAUSE_SECONDS, MAX_STAGE_SECONDS},
        times::span,
    },
    reader::Section,
    workload::{Arrivals, Load, MAX_REQUESTS, Rate, Stage, Timeouts},
};

/// llm-d-benchmark's default rate, in requests per second.
const RATE: f64 = 1.0;
/// llm-d-benchmark's default duration of the load, in seconds.
const DURATION: f64 = 30.0;
/// llm-d-benchmark's default request timeout, in seconds.
const TIMEOUT: f64 = 60.0;

/// Returns the only stage, and the timeouts. Returns `None` if at least one problem was reported.
pub(super) fn read(section: Section) -> Option<(Stage, Timeouts)> {
    let rate = section.or_default("rate_per_second", RATE, |it, key| it.positive_number(key, RequestRate::MAX));
    let most = MAX_STAGE_SECONDS as f64;
    let duration = section.or_default("duration_seconds", DURATION, |it, key| it.positive_number(key, most));
    let count = section.count("total_requests", 1..=MAX_REQUESTS);
    let in_flight = section.count_u32("max_in_flight", 1..=MAX_CONCURRENCY);
    let timeout = section
        .or_default("request_timeout_seconds", TIMEOUT, |it, key| it.number(key, 0.001..=MAX_PAUSE_SECONDS as f64));
    if section.bool("fail_on_error") == Some(true) {
        section.notice("fail_on_error", "is not used: failed requests are in the report, and the run goes on");
    }
    let rate = rate?;
    // As in llm-d-benchmark, the number is truncated, and at least one request is sent.
    let count = count.or_else(|| duration.map(|it| ((it * rate) as u64).max(1)));
    if let Some(count) = count.filter(|it| *it > MAX_REQUESTS || *it as f64 / rate > most) {
        let message = format!(
            "gives {count} requests with the duration, and a run sends 1 to {MAX_REQUESTS} within {MAX_STAGE_SECONDS} s; change one of them"
        );
        section.problem("rate_per_second", message);
    }
    let max_concurrency = in_flight.unwrap_or(rate.ceil().clamp(1.0, MAX_CONCURRENCY as f64) as u32);
    section.notice("max_in_flight", format!("is {max_concurrency}: further requests wait in the client. Their wait is part of their latency here, and not in the original"));
    section.finish();
    let rate = RequestRate::try_from(rate).ok()?;
    let load = Load::Open {
        arrivals: Arrivals::Constant,
        rate: Rate::Steady(rate),
        duration: None,
        count: Some(count?),
        max_concurrency: Some(max_concurrency),
    };
    Some((Stage::new(format!("r{rate}"), load), Timeouts { request: span(timeout?), ..Timeouts::default() }))
}
