//! An example of a format for docs/extending.md. Only tests build it, and no run uses it.
//!
//! A profile describes a closed loop such as `hey -n 200 -c 8`: `{requests: 200, clients: 8, prompt_tokens: 128, timeout_seconds: 20}`.

use std::time::Duration;

use crds::{benchmark_run::Api, units::Span};
use serde_json::Value;

use super::{
    common::{
        bounds::{MAX_CONCURRENCY, MAX_PAUSE_SECONDS, MAX_TOKENS},
        target::model,
    },
    target::Target,
};
use crate::{
    problem::Findings,
    reader::{Section, ValueType},
    workload::{LengthDistribution, Load, MAX_REQUESTS, PromptText, RequestSource, Stage, Timeouts, Workload},
};

/// The keys of a profile. The reader refuses any other key and suggests the nearest one.
const KEYS: [&str; 6] = ["clients", "color", "model", "prompt_tokens", "requests", "timeout_seconds"];

/// The defaults of `hey`.
const CLIENTS: u32 = 50;
const PROMPT_TOKENS: u32 = 64;
const OUTPUT_TOKENS: u32 = 16;
const TIMEOUT_SECONDS: u64 = 20;

/// Reads a profile. `None` means that the findings contain at least one problem.
fn parse(profile: &Value, target: Target, findings: &Findings) -> Option<Workload> {
    let root = Section::root(profile, &KEYS, findings)?;
    // The function reads all keys before it returns, so the user sees all problems at once.
    let model = model(&root, "model", target);
    root.require("requests", "write how many requests are sent, such as 200");
    let requests = root.count("requests", 1..=MAX_REQUESTS);
    let clients = root.or_default("clients", CLIENTS, |it, key| it.count_u32(key, 1..=MAX_CONCURRENCY));
    let prompt = root.or_default("prompt_tokens", PROMPT_TOKENS, |it, key| it.count_u32(key, 1..=MAX_TOKENS));
    let timeout = root.or_default("timeout_seconds", TIMEOUT_SECONDS, |it, key| it.count(key, 1..=MAX_PAUSE_SECONDS));
    // A key without effect gets a notice.
    if root.ignored("color", ValueType::Text) {
        root.notice("color", "is not used: the terminal decides");
    }
    root.finish();
    let lengths = LengthDistribution::fixed;
    let source = RequestSource::random(lengths(prompt?), lengths(OUTPUT_TOKENS), PromptText::Words);
    let stage = Stage::new("load", Load::closed(clients?, requests?));
    let timeouts = Timeouts { request: Some(Span(Duration::from_secs(timeout?))), ..Timeouts::default() };
    Some(Workload { model, timeouts, ..Workload::new(Api::Completions, source, vec![stage]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_a_closed_loop() {
        let findings = Findings::default();
        let profile = serde_json::json!({"requests": 200, "clients": 8, "prompt_tokens": 128, "color": "no"});
        let workload = parse(&profile, Target::default(), &findings).unwrap();
        assert_eq!(workload.stages, [Stage::new("load", Load::closed(8, 200))]);
        assert_eq!(workload.timeouts.request, Some(Span(Duration::from_secs(20))));
        let notices = findings.into_result().unwrap();
        assert_eq!(
            notices.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["color: is not used: the terminal decides"]
        );
    }

    #[test]
    fn all_problems_of_a_profile_are_shown_at_once() {
        let findings = Findings::default();
        let profile = serde_json::json!({"clients": 0, "prompt_token": 128});
        assert_eq!(parse(&profile, Target::default(), &findings), None);
        let problems = findings.into_result().unwrap_err().to_string();
        for expected in ["requests: is missing; write how many", "clients: is 0", "did you mean prompt_tokens?"] {
            assert!(problems.contains(expected), "{problems}");
        }
    }
}
