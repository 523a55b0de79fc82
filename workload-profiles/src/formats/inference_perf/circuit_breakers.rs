//! Section `circuit_breakers`: rules that end a stage when requests fail.
//!
//! inference-perf matches the record of each request against JMESPath expressions. This module only supports the expressions that match every
//! request, failed requests, or requests that timed out. Other expressions are problems.

use super::values::span;
use crate::{
    formats::common::bounds::MAX_STAGE_SECONDS,
    problem::quoted,
    reader::{Section, described},
    workload::{Hit, HitLimit, MAX_REQUESTS, StopRule, StopScope},
};

/// Maximum circuit breakers, and maximum triggers per circuit breaker.
const MAX_BREAKERS: usize = 100;
/// Expressions that match every request, written without blanks.
const ALWAYS: [&str; 8] =
    ["@", "`true`", "info", "request_data", "start_time", "end_time", "scheduled_time", "type(@)=='object'"];
/// Expressions that match failed requests.
const FAILED: [&str; 8] = [
    "error",
    "error!=null",
    "error!=`null`",
    "error.error_type",
    "error.error_type!=null",
    "error.error_type!=`null`",
    "error.error_msg",
    "not_null(error)",
];
/// Expressions that match requests that timed out.
const TIMED_OUT: [&str; 4] = [
    "error.error_type=='TimeoutError'",
    "error.error_type==`TimeoutError`",
    "error.error_type==`\"TimeoutError\"`",
    "contains(error.error_type,'Timeout')",
];

/// The requests that an expression matches. `None` means that all requests.
type Holds = Option<Hit>;

/// The requests that a circuit breaker evaluates, and which of them are hits.
#[derive(Clone, Copy)]
struct Watched {
    hit: Hit,
    /// True: the circuit breaker evaluates every request. False: it evaluates only hits, so that other requests do not interrupt a sequence of hits.
    every_request: bool,
}

/// Reads the enabled breakers. `used` contains their names.
pub(super) fn read(root: &Section, used: &[String]) -> Vec<StopRule> {
    const KEY: &str = "circuit_breakers";
    let items = root.list(KEY).unwrap_or_default();
    if items.len() > MAX_BREAKERS {
        root.problem(KEY, format!("holds {} breakers; write at most {MAX_BREAKERS}", items.len()));
        return Vec::new();
    }
    let mut rules = Vec::new();
    let mut names = Vec::new();
    for (path, value) in items {
        let Some(section) = root.element(value, path) else { continue };
        section.require("name", "write a name to use in load.circuit_breakers");
        let Some(name) = section.text("name") else { continue };
        if names.contains(&name) {
            section.problem("name", format!("is {}, the name of an entry above; keep one of them", quoted(name)));
        }
        names.push(name);
        if used.iter().any(|it| it == name) {
            rules.extend(breaker(section, name));
        } else {
            section.notice(
                "name",
                format!("is {}, which load.circuit_breakers does not name: it ends no stage", quoted(name)),
            );
        }
    }
    for name in used.iter().filter(|it| !names.contains(&it.as_str())) {
        root.problem(
            KEY,
            format!(
                "has no entry {}, which load.circuit_breakers names; add it, or take the name out of load.circuit_breakers",
                quoted(name)
            ),
        );
    }
    rules
}

/// Returns one rule per trigger. The first rule whose limit is reached ends the stage.
fn breaker(section: Section, name: &str) -> Vec<StopRule> {
    section.require("metrics", "write which requests are hits, such as {matches: ['@'], rules: [error]}");
    section.require("triggers", "write when it opens, such as [{type: consecutive, threshold: 5}]");
    let watched = section.section("metrics").and_then(watched);
    let items = section.list("triggers").unwrap_or_default();
    if items.len() > MAX_BREAKERS {
        section.problem("triggers", format!("holds {} triggers; write at most {MAX_BREAKERS}", items.len()));
        return Vec::new();
    }
    let several = items.len() > 1;
    let mut rules = Vec::new();
    for (index, (path, value)) in items.into_iter().enumerate() {
        let limit = section.element(value, path).and_then(|it| trigger(it, watched));
        let name = if several { format!("{name}-{}", index + 1) } else { name.to_owned() };
        let rule = watched.zip(limit).map(|(watched, limit)| (watched.hit, limit));
        rules.extend(rule.map(|(hit, limit)| StopRule { name, hit, limit, scope: StopScope::Stage }));
    }
    section.finish();
    rules
}

fn watched(section: Section) -> Option<Watched> {
    section.require("matches", "write which requests it looks at, such as ['@'] for all of them");
    let matches = expressions(&section, "matches");
    let rules = section.or_default("rules", Vec::new(), expressions);
    let watched = matches.zip(rules).and_then(|(matches, rules)| combined(&section, &matches, &rules));
    section.finish();
    watched
}

/// Combines the expressions of a circuit breaker. It evaluates a request that any of `matches` matches. The request is a hit if any of `rules`
/// matches it, or if there are no rules.
fn combined(section: &Section, matches: &[Holds], rules: &[Holds]) -> Option<Watched> {
    let every_request = matches.contains(&None);
    let filters = if rules.is_empty() { matches } else { rules };
    let hit = filters.first().copied().flatten().filter(|hit| filters.iter().all(|it| *it == Some(*hit)));
    // If the rules differ from `matches`, the share of hits would refer to the matched requests only, which is not supported.
    let is_same = every_request || matches.iter().all(|it| *it == hit);
    match hit.filter(|_| is_same) {
        Some(hit) => Some(Watched { hit, every_request }),
        None => {
            let message = "is not supported: here a breaker matches all requests or failed ones, and its hits are requests that fail or time out; write matches: ['@'] and rules: [error]";
            section.problem_of_all(message);
            None
        }
    }
}

fn expressions(section: &Section, key: &'static str) -> Option<Vec<Holds>> {
    let items = section.list(key)?;
    if items.is_empty() && key == "matches" {
        section.problem(key, "is an empty list; write ['@'] for all requests");
        return None;
    }
    let mut known = Vec::new();
    for (index, (_, value)) in items.iter().enumerate() {
        let found = value.as_str().and_then(holds);
        if found.is_none() {
            let advice =
                "known are @ for every request, error for those that fail, and error.error_type == 'TimeoutError'";
            section.problem(
                &format!("{key}[{index}]"),
                format!("is {}, which is not supported; {advice}", described(value)),
            );
        }
        known.extend(found);
    }
    (known.len() == items.len()).then_some(known)
}

fn holds(expression: &str) -> Option<Holds> {
    let plain: String = expression.chars().filter(|it| !it.is_whitespace()).collect();
    let is_in = |list: &[&str]| list.contains(&plain.as_str());
    if is_in(&ALWAYS) {
        Some(None)
    } else if is_in(&FAILED) {
        Some(Some(Hit::Failed))
    } else {
        is_in(&TIMED_OUT).then_some(Some(Hit::TimedOut))
    }
}

fn trigger(section: Section, watched: Option<Watched>) -> Option<HitLimit> {
    section.require("type", "write consecutive or rate_over_window");
    section.require("threshold", "write the number of hits, or the share of hits from 0 to 1");
    let is_share = section.choice("type", &[("consecutive", false), ("rate_over_window", true)])?;
    let every_request = watched.is_none_or(|it| it.every_request);
    let limit = if is_share { share(&section, every_request) } else { consecutive(&section, every_request) };
    section.finish();
    limit
}

fn consecutive(section: &Section, every_request: bool) -> Option<HitLimit> {
    let count = section.count("threshold", 1..=MAX_REQUESTS)?;
    Some(if every_request { HitLimit::InARow(count) } else { HitLimit::Count(count) })
}

fn share(section: &Section, every_request: bool) -> Option<HitLimit> {
    section.require("window_sec", "write the length of the window in seconds");
    let share = section.number("threshold", 0.0..=1.0);
    let window = section.positive_number("window_sec", MAX_STAGE_SECONDS as f64);
    let least = section.or_default("min_samples", 0, |it, key| it.count_u32(key, 0..=MAX_REQUESTS));
    let (share, within, least) = (share?, span(window?)?, least?);
    if every_request {
        return Some(HitLimit::ShareWithin { share, within, least });
    }
    if least > 1 {
        let message = "counts hits among hits: metrics.matches leaves only requests that fail, so that their share is always 1; \
                       write matches: ['@'] and rules: [error]";
        section.problem("min_samples", message);
        return None;
    }
    Some(HitLimit::Count(1))
}
