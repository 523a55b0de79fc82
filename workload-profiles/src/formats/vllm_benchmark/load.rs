//! When the requests are sent, and the latency limits of goodput.

use crds::units::RequestRate;

use super::{
    data_sets::{Data, Times},
    original::Original,
};
use crate::{
    formats::common::{
        bounds::MAX_CONCURRENCY, fields::concurrency, flags::word, stage_names::StageNames, times::goal_millis,
    },
    problem::quoted,
    reader::Section,
    workload::{Arrivals, Goodput, Load, MAX_REQUESTS, Margin, Probes, RampUpStrategy, Rate, RateShape, Stage, Trace},
    yaml::decimal,
};

/// The range of `burstiness`. Below it all gaps of a gamma process are zero; above it all gaps are equal.
const BURSTINESS: std::ops::RangeInclusive<f64> = 1e-3..=1e6;
/// Maximum probes per second. More probes would be a load of their own.
const MAX_PROBE_RATE: f64 = 100.0;

/// The replay speed at which all requests are due immediately: at this speed, three years take a tenth of a millisecond.
const AT_ONCE: f64 = 1e12;

/// Reads the stages: the warm-up, if the flags request one, and the load. Returns `None` if at least one problem was reported.
pub(super) fn read(root: &Section, original: Original, data: Option<&Data>) -> Option<Vec<Stage>> {
    let max_concurrency = concurrency(root, "max-concurrency");
    let arrivals = arrivals(root, original);
    let rate = rate(root);
    let warm_up = warm_up(root, data, max_concurrency);
    let (rate, arrivals, data) = (rate?, arrivals?, data?);
    let load = match (&data.times, rate) {
        (Times::Recorded { file, speed }, _) => {
            for flag in ["request-rate", "burstiness", "ramp-up-strategy"] {
                if root.value(flag).is_some() {
                    root.notice(flag, "is not used: requests are sent at the times of the trace");
                }
            }
            let trace = Trace::File((**file).clone());
            Load::Trace { trace, speed: *speed, count: Some(data.count), lengths: true, max_concurrency }
        }
        (Times::AtOnce { file }, None) => {
            let trace = Trace::File((**file).clone());
            Load::Trace { trace, speed: AT_ONCE, count: Some(data.count), lengths: true, max_concurrency }
        }
        (Times::AtOnce { .. }, Some(_)) => {
            let flag = if root.value("request-rate").is_some() { "request-rate" } else { "ramp-up-strategy" };
            root.problem(
                flag,
                "cannot be combined with dataset-name burstgpt here, which has no rate: requests are sent as soon as fewer than max-concurrency are in flight; take it out and \
                 set max-concurrency, or set dataset-name to random, and its input and output length to the means of the file",
            );
            return None;
        }
        // In a closed loop, a slot sends a request when its previous one has ended. The tool's clock for the request starts at the same time, so
        // there is no difference to report.
        (Times::ByRate, None) => match max_concurrency {
            Some(concurrency) => Load::closed(concurrency, data.count),
            None => Load::Burst { count: data.count, max_concurrency },
        },
        (Times::ByRate, Some(rate)) => {
            let arrivals = match (arrivals, &rate) {
                // The tool rescales the gaps only if the rate is steady.
                (Arrivals::ConditionedGamma { burstiness }, Rate::Varying(_)) => Arrivals::Gamma { burstiness },
                (other, _) => other,
            };
            Load::Open { arrivals, rate, duration: None, count: Some(data.count), max_concurrency }
        }
    };
    if max_concurrency.is_some() && matches!(load, Load::Open { .. } | Load::Trace { .. }) {
        let message = format!(
            "lets requests wait in the client; {} measures from the end of the wait, here latencies count from the time when a request was due",
            original.name()
        );
        root.notice("max-concurrency", message);
    }
    let mut names = StageNames::default();
    let main = Stage::new(names.name(&load), load);
    Some(warm_up.into_iter().chain([main]).collect())
}

/// Reads the distribution of the gaps between requests.
fn arrivals(root: &Section, original: Original) -> Option<Arrivals> {
    let is_infinite = word(root, "burstiness").is_some_and(|it| is_infinity(&it));
    match original {
        Original::VllmBenchServe if is_infinite => Some(Arrivals::ConstantAfterGap),
        Original::VllmBenchServe => root
            .or_default("burstiness", 1.0, |it, key| it.number(key, BURSTINESS))
            .map(|burstiness| Arrivals::ConditionedGamma { burstiness }),
        // InferenceMAX does not rescale the gaps.
        Original::InferenceMax => root
            .or_default("burstiness", 1.0, |it, key| it.number(key, BURSTINESS))
            .map(|burstiness| Arrivals::Gamma { burstiness }),
    }
}

/// Reads the rate. `Some(None)` if all requests are due immediately. Returns `None` if a problem was reported.
fn rate(root: &Section) -> Option<Option<Rate>> {
    let text = word(root, "request-rate");
    let is_infinite = text.as_deref().is_none_or(is_infinity);
    if root.value("ramp-up-strategy").is_some() {
        if !is_infinite {
            root.problem(
                "request-rate",
                "cannot be combined with ramp-up-strategy, which gives the rate; take one of them out",
            );
        }
        return ramp_up(root).map(|it| Some(Rate::Varying(it)));
    }
    for flag in ["ramp-up-start-rps", "ramp-up-end-rps"] {
        if root.value(flag).is_some() {
            root.notice(flag, "is not used: it needs ramp-up-strategy");
        }
    }
    if is_infinite {
        return Some(None);
    }
    let found = text.as_deref().and_then(decimal).and_then(|it| RequestRate::try_from(it).ok());
    if found.is_none() {
        let (shown, most) = (text.as_deref().map(quoted).unwrap_or_default(), RequestRate::MAX);
        root.problem("request-rate", format!("is {shown}; write a number above 0 and at most {most}, or inf"));
    }
    found.map(|it| Some(Rate::Steady(it)))
}

fn ramp_up(root: &Section) -> Option<RateShape> {
    let strategies = [("linear", RampUpStrategy::Linear), ("exponential", RampUpStrategy::Exponential)];
    let strategy = root.choice("ramp-up-strategy", &strategies);
    root.require("ramp-up-start-rps", "write the rate of the first request, a whole number");
    root.require("ramp-up-end-rps", "write the rate of the last request, a whole number");
    let end = |key| root.count(key, 1..=RequestRate::MAX as u64).and_then(|it| RequestRate::try_from(it as f64).ok());
    let (from, to) = (end("ramp-up-start-rps"), end("ramp-up-end-rps"));
    let (strategy, from, to) = (strategy?, from?, to?);
    if from.per_second() > to.per_second() {
        root.problem("ramp-up-start-rps", format!("is {from}, above ramp-up-end-rps, which is {to}; swap them"));
        return None;
    }
    Some(RateShape::RampUp { strategy, from, to })
}

/// Whether Python reads the text as infinity.
fn is_infinity(text: &str) -> bool {
    ["inf", "+inf", "infinity", "+infinity"].iter().any(|it| it.eq_ignore_ascii_case(text.trim()))
}

/// Returns the stage of the warm-up.
fn warm_up(root: &Section, data: Option<&Data>, max_concurrency: Option<u32>) -> Option<Stage> {
    let count = root.count("num-warmups", 0..=MAX_REQUESTS).filter(|it| *it > 0)?;
    if data.is_some_and(|it| !matches!(it.times, Times::ByRate)) {
        root.problem("num-warmups", "cannot be combined with the trace of dataset-name here; take it out");
        return None;
    }
    let here = match data {
        Some(data) if !data.is_synthetic => {
            format!("the first {count} rows, so that a prefix cache already holds them when they are measured")
        }
        _ => format!("{count} prompts that are not measured, so that a prefix cache holds none of the measured ones"),
    };
    root.notice(
        "num-warmups",
        format!("is {count}, and vllm bench serve sends its first prompt {count} times; here the warm-up sends {here}"),
    );
    let at_once = u32::try_from(count.min(MAX_CONCURRENCY)).unwrap_or(u32::MAX);
    let load = Load::closed(max_concurrency.unwrap_or(at_once), count);
    Some(Stage { warm_up: Some(Margin::All), ..Stage::new("warm-up", load) })
}

/// Reads the probes: requests with one token each, in addition to the load.
pub(super) fn probes(root: &Section) -> Option<Probes> {
    let rate = root.number("probe-request-rate", 0.0..=MAX_PROBE_RATE).filter(|it| *it > 0.0)?;
    root.notice(
        "probe-request-rate",
        "probes are sent evenly at this rate; vllm bench serve waits for each answer, and then for the gap",
    );
    Some(Probes { rate: RequestRate::try_from(rate).ok()?, input: 1, output: 1 })
}

/// Reads the latency limits that a good request must meet. The flags are in milliseconds.
pub(super) fn goodput(root: &Section) -> Goodput {
    let mut goodput = Goodput::default();
    let Some(section) = root.section("goodput") else { return goodput };
    let goal = |key| goal_millis(&section, key);
    goodput = Goodput { ttft: goal("ttft"), tpot: goal("tpot"), latency: goal("e2el"), ..Goodput::default() };
    section.finish();
    goodput
}
