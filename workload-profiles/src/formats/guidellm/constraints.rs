//! `spec.constraints`: what ends a strategy. A strategy is GuideLLM's word for a stage.

use std::collections::BTreeSet;

use super::values::{counts, numbers, unsupported};
use crate::{
    formats::common::bounds::MAX_STAGE_SECONDS,
    reader::{Section, ValueType},
    workload::{Hit, HitLimit, MAX_REQUESTS, StopRule, StopScope},
};

/// Maximum number of constraints. There are seven kinds.
const MAX_CONSTRAINTS: usize = 64;
/// Default number of requests over which an error rate is computed, and default minimum number of requests.
const DEFAULT_WINDOW: u32 = 30;
/// Maximum number of requests in a window.
const MAX_WINDOW: u64 = 1_000_000;

/// The limits at which strategies end.
#[derive(Debug, Default)]
pub(super) struct Limits {
    /// Seconds per strategy. The last value applies to all further strategies.
    seconds: Vec<f64>,
    /// Requests per strategy. The last value applies to all further strategies.
    requests: Vec<u64>,
    pub rules: Vec<StopRule>,
    /// The paths of constraints with the scope `all`, which end all strategies.
    pub ends_all: Vec<String>,
}

impl Limits {
    pub fn seconds(&self, strategy: usize) -> Option<f64> {
        self.seconds.get(strategy).or(self.seconds.last()).copied()
    }

    pub fn requests(&self, strategy: usize) -> Option<u64> {
        self.requests.get(strategy).or(self.requests.last()).copied()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    MaxDuration,
    MaxRequests,
    MinRequests,
    MaxErrors,
    MaxErrorRate,
    MaxGlobalErrorRate,
    OverSaturation,
}

/// Reads the list of constraints.
pub(super) fn read(spec: &Section) -> Limits {
    let mut limits = Limits::default();
    let items = spec.list("constraints").unwrap_or_default();
    if items.len() > MAX_CONSTRAINTS {
        spec.problem("constraints", format!("holds {} constraints; write at most {MAX_CONSTRAINTS}", items.len()));
        return limits;
    }
    let mut kinds = BTreeSet::new();
    for (path, value) in items {
        let Some(section) = spec.element(value, path.clone()) else { continue };
        section
            .require("kind", "write one of max_duration, max_requests, max_errors and the other kinds of constraints");
        if let Some(kind) = kind(&section) {
            if !kinds.insert(kind) {
                section.problem("kind", "is the kind of an earlier constraint; keep one of them");
            }
            constraint(&section, &path, kind, &mut limits);
        }
        section.finish();
    }
    if kinds.contains(&Kind::MaxRequests) && kinds.contains(&Kind::MinRequests) {
        spec.problem("constraints", "hold max_requests and min_requests, which both end a strategy; keep one of them");
    }
    limits
}

fn kind(section: &Section) -> Option<Kind> {
    section.choice(
        "kind",
        &[
            ("max_duration", Kind::MaxDuration),
            ("max_requests", Kind::MaxRequests),
            ("min_requests", Kind::MinRequests),
            ("max_errors", Kind::MaxErrors),
            ("max_error_rate", Kind::MaxErrorRate),
            ("max_global_error_rate", Kind::MaxGlobalErrorRate),
            ("over_saturation", Kind::OverSaturation),
        ],
    )
}

fn constraint(section: &Section, path: &str, kind: Kind, limits: &mut Limits) {
    let scopes = [("current", StopScope::Stage), ("all", StopScope::Load)];
    let scope = section.or_default("stopping_scope", StopScope::Stage, |it, key| it.choice(key, &scopes));
    let Some(scope) = scope else { return };
    if scope == StopScope::Load && matches!(kind, Kind::MaxDuration | Kind::MaxRequests | Kind::MinRequests) {
        limits.ends_all.push(format!("{path}.stopping_scope"));
    }
    let rule = |limit: Option<HitLimit>, name: &str| {
        limit.map(|limit| StopRule { name: name.to_owned(), hit: Hit::Failed, limit, scope })
    };
    match kind {
        Kind::MaxDuration => {
            section.require("seconds", "write the length of each strategy in seconds");
            let most = MAX_STAGE_SECONDS as f64;
            let wanted = format!("a number of seconds above 0 and at most {most}");
            limits.seconds = numbers(section, "seconds", &wanted, |it| it > 0.0 && it <= most).unwrap_or_default();
        }
        Kind::MaxRequests => limits.requests = requests(section),
        Kind::MinRequests => {
            limits.requests = requests(section);
            section.notice("kind", "is read as max_requests: exactly this number is sent, and all of them end; GuideLLM sends further requests until this number has ended, and then cancels them");
        }
        Kind::MaxErrors => {
            section.require("count", "write the number of failed requests that ends a strategy");
            let count = single(section, "count", counts(section, "count", MAX_REQUESTS));
            limits.rules.extend(rule(count.map(HitLimit::Count), "max_errors"));
        }
        Kind::MaxErrorRate => {
            let share = share(section);
            let of = window(section, "window").unwrap_or(DEFAULT_WINDOW);
            limits.rules.extend(rule(share.map(|share| HitLimit::ShareOfLast { share, of }), "max_error_rate"));
        }
        Kind::MaxGlobalErrorRate => {
            let share = share(section);
            let least = window(section, "minimum").unwrap_or(DEFAULT_WINDOW);
            limits
                .rules
                .extend(rule(share.map(|share| HitLimit::ShareOfAll { share, least }), "max_global_error_rate"));
        }
        Kind::OverSaturation => over_saturation(section),
    }
}

fn requests(section: &Section) -> Vec<u64> {
    section.require("count", "write the number of requests of each strategy");
    counts(section, "count", MAX_REQUESTS).unwrap_or_default()
}

/// Returns the value if it is the same for all strategies. Otherwise adds a problem, because the value becomes a stop rule, and a stop rule applies
/// to all stages.
fn single<T: Copy + PartialEq>(section: &Section, key: &'static str, values: Option<Vec<T>>) -> Option<T> {
    let values = values?;
    let first = *values.first()?;
    if values.iter().any(|it| *it != first) {
        section.problem(key, "differs between strategies, which this engine does not support; write one value");
        return None;
    }
    Some(first)
}

fn share(section: &Section) -> Option<f64> {
    section.require("rate", "write the share of failed requests that ends a strategy, such as 0.1");
    let shares = numbers(section, "rate", "a number above 0 and below 1", |it| it > 0.0 && it < 1.0);
    single(section, "rate", shares)
}

/// Reads a number of requests. GuideLLM also accepts fractions.
fn window(section: &Section, key: &'static str) -> Option<u32> {
    let number = section.positive_number(key, MAX_WINDOW as f64)?;
    // The cast is exact, because the number is at most one million.
    Some(number.ceil() as u32)
}

fn over_saturation(section: &Section) {
    section.all_ignored(&[
        ("min_seconds", ValueType::Number),
        ("max_window_seconds", ValueType::Number),
        ("moe_threshold", ValueType::Number),
        ("minimum_ttft", ValueType::Number),
        ("maximum_window_ratio", ValueType::Number),
        ("minimum_window_size", ValueType::Number),
        ("confidence", ValueType::Number),
    ]);
    match section.or_default("mode", true, |it, key| it.choice(key, &[("enforce", true), ("monitor", false)])) {
        Some(true) => section.problem(
            "kind",
            unsupported("over_saturation with mode enforce", "take it out, or bound the strategies by max_duration"),
        ),
        Some(false) => section.notice("kind", "is not used: the report has no over-saturation of GuideLLM's kind"),
        None => {}
    }
}
