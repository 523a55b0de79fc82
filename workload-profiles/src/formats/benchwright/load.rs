//! When the requests of a stage are sent.

use crds::units::{RequestRate, Span};

use super::{arrivals, rate, trace};
use crate::{
    formats::common::{
        bounds::{MAX_STAGE_SECONDS, MAX_TURNS},
        fields::{concurrency, request_count},
        stage_length::{sends_nothing, unreachable_count},
    },
    reader::Section,
    workload::{Arrivals, Load, Rate, RateShape, RequestSource, UsedUp},
};

/// Keys of a stage that authors sometimes write one level too deep, into its load. `warmUp` and `coolDown` are also keys of the root, where
/// they apply to the whole run.
const STAGE_KEYS: [&str; 5] = ["coolDown", "grace", "name", "pauseAfter", "warmUp"];

/// Reads the key `load` of a stage. `earlier` is the number of stages before it. Returns `None` if at least one problem was reported.
pub(super) fn read(stage: &Section, requests: Option<&RequestSource>, earlier: usize) -> Option<Load> {
    stage.require("load", "write when its requests are sent, such as {open: {rate: 1, duration: 30s}}");
    let (name, holder) = stage.variant_with_value("load", &["open", "closed", "burst", "trace", "users"])?;
    let section = holder.section(name)?;
    let load = match name {
        "open" => open(&section, earlier),
        "closed" => closed(&section, requests),
        "burst" => burst(&section),
        "users" => users(&section),
        _ => trace::read(&section, requests),
    };
    section.misplaced(&STAGE_KEYS, stage);
    section.finish();
    load
}

fn open(section: &Section, earlier: usize) -> Option<Load> {
    section.require("rate", "write the requests per second, or how they change");
    let duration = section.positive_span("duration", MAX_STAGE_SECONDS);
    let count = request_count(section, "count");
    let arrivals = section.or_default("arrivals", Arrivals::Poisson, arrivals::read);
    let rate = rate::read(section, duration, earlier);
    let max_concurrency = concurrency(section, "maxConcurrency");
    let (arrivals, rate) = (arrivals?, rate?);
    check_end(section, &rate);
    check_arrivals(section, arrivals, &rate);
    let load = Load::Open { arrivals, rate, duration, count, max_concurrency };
    check_length(section, &load);
    if sends_nothing(&load) {
        section.problem("rate", "gives less than one request in the duration; raise one of them");
    }
    Some(load)
}

/// Checks that a load has an end. A ramp-up requires a count; any other load requires a duration or a count.
fn check_end(section: &Section, rate: &Rate) {
    let is_read = |key| section.value(key).is_some();
    let (duration, count) = (is_read("duration"), is_read("count"));
    if !matches!(rate, Rate::Varying(RateShape::RampUp { .. })) {
        if !duration && !count {
            section.require("duration", "write how long requests are sent, or their count");
        }
    } else if !count {
        section.problem(
            "count",
            "is missing; a rampUp changes the rate from its first to its last request, so write how many there are",
        );
    } else if duration {
        section.problem(
            "duration",
            "cannot be combined with a rampUp, which ends after its count; take it out, or write a ramp",
        );
    }
}

fn check_arrivals(section: &Section, arrivals: Arrivals, rate: &Rate) {
    let conditioned = matches!(arrivals, Arrivals::ConditionedPoisson | Arrivals::ConditionedGamma { .. });
    let per_second = arrivals == Arrivals::PoissonPerSecond;
    let is_ramp_up = matches!(rate, Rate::Varying(RateShape::RampUp { .. }));
    if is_ramp_up && (conditioned || per_second) {
        section.problem("arrivals", "cannot be combined with a rampUp; choose constantAfterGap, poisson or gamma");
    } else if per_second && !matches!(rate, Rate::Steady(_) | Rate::Varying(RateShape::Measured(_))) {
        section.problem("arrivals", "is poissonPerSecond, which needs a rate that does not vary; choose poisson");
    }
}

/// Checks that a load with a number of requests can reach this number within the maximum stage length.
fn check_length(section: &Section, load: &Load) {
    if let Some(count) = unreachable_count(load) {
        let what = format!("is {count}, which takes more than {MAX_STAGE_SECONDS}s, the longest stage, at this rate");
        section.problem("count", format!("{what}; lower it, raise the rate, or set a duration"));
    }
}

fn burst(section: &Section) -> Option<Load> {
    section.require("count", "write how many requests the burst has");
    let (count, max_concurrency) = (request_count(section, "count"), concurrency(section, "maxConcurrency"));
    Some(Load::Burst { count: count?, max_concurrency })
}

fn closed(section: &Section, requests: Option<&RequestSource>) -> Option<Load> {
    section.require("concurrency", "write how many requests are in flight");
    let concurrency = concurrency(section, "concurrency");
    // A stage of recorded sessions ends after the last session. A stage that sends the rows of a file can end after the last row.
    let ends_with_data = match requests {
        Some(RequestSource::Recorded(_)) => true,
        Some(RequestSource::DataSet(set)) => set.used_up == UsedUp::EndStage,
        _ => false,
    };
    let (count, duration) = if ends_with_data { count_and_duration(section) } else { count_or_duration(section) };
    let ramp_up = section.span("rampUp", MAX_STAGE_SECONDS).unwrap_or_default();
    if let Some(duration) = duration.filter(|it| *it < ramp_up) {
        section.problem("rampUp", format!("is {ramp_up}, longer than the duration, which is {duration}; shorten it"));
    }
    let start_rate = rate_of(section, "startRate");
    let load = Load::Closed { concurrency: concurrency?, count, duration, ramp_up, start_rate };
    check_length(section, &load);
    Some(load)
}

fn users(section: &Section) -> Option<Load> {
    section.require("users", "write the number of concurrent users");
    section.require("rate", "write the requests per second of all users together");
    section.require("turns", "write how many turns a user takes before another one follows");
    let users = concurrency(section, "users");
    let rate = rate_of(section, "rate");
    let turns = section.count_u32("turns", 1..=MAX_TURNS);
    let (count, duration) = count_or_duration(section);
    let load = Load::Users { users: users?, rate: rate?, turns: turns?, duration, count };
    check_length(section, &load);
    if sends_nothing(&load) {
        section.problem("rate", "gives less than one request in the duration; raise one of them");
    }
    Some(load)
}

/// Reads the maximum number of requests and the duration of a load. At least one of them is required.
fn count_or_duration(section: &Section) -> (Option<u64>, Option<Span>) {
    if section.value("count").is_none() {
        section.require("duration", "write how long requests are sent, or their count");
    }
    count_and_duration(section)
}

fn count_and_duration(section: &Section) -> (Option<u64>, Option<Span>) {
    (request_count(section, "count"), section.positive_span("duration", MAX_STAGE_SECONDS))
}

/// Reads a rate in requests per second, above zero.
fn rate_of(section: &Section, key: &'static str) -> Option<RequestRate> {
    section.positive_number(key, RequestRate::MAX).and_then(|it| RequestRate::try_from(it).ok())
}
