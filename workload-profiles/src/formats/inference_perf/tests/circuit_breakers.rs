//! Rules that end a stage.

use super::*;
use crate::workload::{Hit, HitLimit, StopRule, StopScope};

fn text(metrics: &str, triggers: &str) -> String {
    format!(
        "load: {{stages: [{{rate: 1, duration: 1}}], circuit_breakers: [errors]}}\n\
         circuit_breakers: [{{name: errors, metrics: {{{metrics}}}, triggers: [{triggers}]}}]"
    )
}

fn rules(metrics: &str, triggers: &str) -> Vec<StopRule> {
    workload(&text(metrics, triggers)).stop_rules
}

#[test]
fn a_breaker_ends_a_stage_when_requests_fail() {
    let rule = |name: &str, hit, limit| StopRule { name: name.into(), hit, limit, scope: StopScope::Stage };
    let window = "{type: rate_over_window, window_sec: 30, threshold: 0.5, min_samples: 10}";
    let share = HitLimit::ShareWithin { share: 0.5, within: Span(Duration::from_secs(30)), least: 10 };
    assert_eq!(
        rules("matches: ['@'], rules: ['error != null']", &format!("{{type: consecutive, threshold: 5}}, {window}")),
        [rule("errors-1", Hit::Failed, HitLimit::InARow(5)), rule("errors-2", Hit::Failed, share)]
    );
    // The breaker evaluates only failures, so successes do not interrupt a sequence of failures.
    assert_eq!(
        rules("matches: [error]", "{type: consecutive, threshold: 5}"),
        [rule("errors", Hit::Failed, HitLimit::Count(5))]
    );
    assert_eq!(
        rules(
            "matches: ['`true`'], rules: [\"error.error_type == 'TimeoutError'\"]",
            "{type: consecutive, threshold: 2}"
        ),
        [rule("errors", Hit::TimedOut, HitLimit::InARow(2))]
    );
}

#[test]
fn what_a_breaker_cannot_express_is_refused_by_name() {
    let consecutive = "{type: consecutive, threshold: 5}";
    check_error(
        &text("matches: ['info.output_tokens > `5`']", consecutive),
        "circuit_breakers[0].metrics.matches[0]: is \"info.output_tokens > `5`\", which is not supported; \
         known are @ for every request, error for those that fail, and error.error_type == 'TimeoutError'",
    );
    let combined = read(&text("matches: ['@']", consecutive)).unwrap_err().to_string();
    assert!(combined.starts_with("circuit_breakers[0].metrics: is not supported: here"), "{combined}");
    let hits =
        read(&text("matches: [error]", "{type: rate_over_window, window_sec: 5, threshold: 0.5, min_samples: 3}"));
    assert!(
        hits.unwrap_err()
            .to_string()
            .starts_with("circuit_breakers[0].triggers[0].min_samples: counts hits among hits")
    );
    check_error(
        &text("matches: [error]", "{threshold: 5}"),
        "circuit_breakers[0].triggers[0].type: is missing; write consecutive or rate_over_window",
    );
}

#[test]
fn a_breaker_works_only_where_the_load_names_it() {
    let load = |names: &str| format!("load: {{stages: [{{rate: 1, duration: 1}}], circuit_breakers: [{names}]}}");
    check_error(
        &load("a"),
        "circuit_breakers: has no entry \"a\", which load.circuit_breakers names; add it, or take the name out of load.circuit_breakers",
    );
    let unused = "circuit_breakers: [{name: a, metrics: {matches: [x]}, triggers: []}]";
    assert_eq!(workload(&format!("{}\n{unused}", load(""))).stop_rules, []);
    check_notice(
        unused,
        "circuit_breakers[0].name: is \"a\", which load.circuit_breakers does not name: it ends no stage",
    );
}
