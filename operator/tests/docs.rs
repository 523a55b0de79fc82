//! docs/operator.md names every reason and every metric, and the chart grants what it lists.

use std::fmt::Display;

use crds::{ExitCode, LauncherReason, Reason, Word};
use operator::{error::Error, metrics::Metrics};

const DOC: &str = include_str!("../../docs/operator.md");

#[test]
fn every_reason_and_exit_code_stands_in_the_documentation() {
    assert_eq!(missing(Reason::ALL.iter().map(|it| it.name())), Vec::<String>::new());
    assert_eq!(missing(LauncherReason::ALL.iter().map(|it| it.name())), Vec::<String>::new());
    assert_eq!(missing(ExitCode::ALL.iter().map(|it| it.code())), Vec::<String>::new());
}

/// The words that begin no row of a table.
fn missing(words: impl Iterator<Item = impl Display>) -> Vec<String> {
    let rows: Vec<_> = DOC.lines().filter_map(|it| it.strip_prefix("| ")?.split(" | ").next()).collect();
    words.map(|it| it.to_string()).filter(|it| !rows.contains(&it.as_str())).collect()
}

#[test]
fn every_metric_stands_in_the_documentation() {
    let metrics = Metrics::default();
    // A family without a series is not printed.
    metrics.write("create", "jobs");
    metrics.phase_changed(Some(crds::status::Phase::Running));
    metrics.count_runs([None].into_iter());
    metrics.attempt_ended(Reason::Disrupted);
    let conflict = Error::Conflict { kind: "Job".into(), name: "a".into() };
    metrics.turn().end(Some(&conflict));
    let text = metrics.text();
    let names: Vec<_> = text.lines().filter_map(|it| it.strip_prefix("# HELP ")?.split(' ').next()).collect();
    assert!(names.len() >= 8, "{text}");
    for name in names {
        assert!(DOC.contains(name), "{name} is not in docs/operator.md");
    }
}

#[test]
fn the_chart_grants_what_is_documented_and_nothing_on_secrets_logs_or_exec() {
    let chart = include_str!("../../charts/benchwright/templates/_helpers.tpl");
    let rules = &chart[chart.find("define \"benchwright.rules\"").unwrap()..];
    let granted: Vec<_> = rules
        .lines()
        .filter_map(|it| it.trim().strip_prefix("resources: [")?.strip_suffix(']'))
        .zip(rules.lines().filter_map(|it| it.trim().strip_prefix("verbs: [")?.strip_suffix(']')))
        .collect();
    assert_eq!(granted.len(), 7, "{granted:?}");
    for (resource, verbs) in granted {
        assert!(
            DOC.contains(&format!("{resource} | {verbs} |")),
            "{resource}: {verbs} is not what docs/operator.md says"
        );
    }
    for never in ["secrets", "pods/log", "pods/exec", "\"*\"", "[*]"] {
        assert!(!rules.contains(never), "{never}");
    }
}
