//! Checks docs/operator.md: it has every reason and every metric, and the chart grants the rights that it lists. Also checks that the dashboard and
//! the alerts only use existing metrics.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    time::Duration,
};

use crds::{ExitCode, LauncherReason, Outcome, Reason, Word, status::Phase};
use operator::{
    error::Error,
    metrics::{Metrics, OF_THE_CLUSTER},
};
use regex::Regex;
use serde_json::Value;

const ALERTS: &str = include_str!("../../charts/benchwright/files/alerts.yaml");
const DASHBOARD: &str = include_str!("../../charts/benchwright/files/dashboard.json");
const DOC: &str = include_str!("../../docs/operator.md");
const EXIT_CODES: &str = include_str!("../../docs/exit-codes.md");
const METRICS: &str = include_str!("../../docs/metrics.md");

#[test]
fn reasons_phases_and_exit_codes_of_the_documentation_are_those_of_the_code() {
    assert_rows(DOC, "## Phases", Phase::ALL.iter().map(|it| it.name()));
    assert_rows(DOC, "## Reasons", Reason::ALL.iter().map(|it| it.name()));
    assert_rows(EXIT_CODES, "## A run", ExitCode::ALL.iter().map(|it| it.code()));
    // If the operator has the same reason as the launcher, it is enough that the operator's table lists it.
    let documented: BTreeSet<&str> = METRICS
        .lines()
        .skip_while(|it| *it != "## The verdict")
        .filter_map(|it| it.strip_prefix("- "))
        .flat_map(|it| it.split([':', '(']).next().unwrap_or_default().split(',').map(str::trim))
        .collect();
    for own in LauncherReason::ALL.iter().map(|it| it.name()).filter(|it| Reason::named(it).is_none()) {
        assert!(documented.contains(own), "docs/metrics.md explains no reason {own}");
    }
}

/// Asserts that the first table below a heading of a page has exactly one row for each word.
fn assert_rows(page: &'static str, heading: &str, words: impl Iterator<Item = impl Display>) {
    let documented: BTreeSet<_> = rows(page, heading).into_iter().map(str::to_owned).collect();
    assert_eq!(documented, words.map(|it| it.to_string()).collect(), "{heading}");
}

/// The first column of the first table below a heading, without the table's header.
fn rows(page: &'static str, heading: &str) -> Vec<&'static str> {
    let lines = page.lines().skip_while(|it| *it != heading).skip_while(|it| !it.starts_with('|'));
    lines
        .take_while(|it| it.starts_with('|'))
        .skip(2)
        .filter_map(|it| it.strip_prefix("| ")?.split(" | ").next())
        .collect()
}

#[test]
fn a_pod_that_ends_has_time_for_the_turn_that_it_has_begun() {
    let chart = include_str!("../../charts/benchwright/templates/deployment.yaml");
    let grace = chart.lines().find_map(|it| it.trim().strip_prefix("terminationGracePeriodSeconds: "));
    let grace: u64 = grace.expect("the chart sets it").parse().expect("a number");
    // Three seconds each for the last events, the last traces, and the release of the lease.
    assert!(grace >= operator::reconcile::TURN_LIMIT.as_secs() + 9, "{grace}");
}

/// The metrics page. Each metric needs a series, because otherwise it would not be printed.
fn page() -> String {
    let metrics = Metrics::default();
    metrics.write("create", "jobs");
    metrics.count_runs([(None, None)].into_iter());
    metrics.watch_failed("jobs");
    metrics.phase_left(crds::status::Phase::Running, Duration::from_secs(1));
    let conflict = Error::Conflict { kind: "Job".into(), name: "a".into() };
    metrics.turn().end(Some(&conflict));
    metrics.text()
}

#[test]
fn the_metrics_of_the_documentation_are_those_of_the_code() {
    let text = page();
    let types = text.lines().filter_map(|it| it.strip_prefix("# TYPE ")?.split_once(' '));
    // The samples of a counter have this suffix, but the name of its family does not.
    let names: BTreeSet<_> =
        types.map(|(name, kind)| if kind == "counter" { format!("{name}_total") } else { name.to_owned() }).collect();
    let documented: BTreeSet<_> = rows(DOC, "## Metrics").iter().map(|it| it.trim_matches('`').to_owned()).collect();
    assert_eq!(documented, names);
}

/// The labels of each of the operator's metrics, by the name of the metric.
fn series() -> BTreeMap<String, BTreeSet<String>> {
    let label = Regex::new(r#"(\w+)=""#).unwrap();
    let mut found = BTreeMap::<_, BTreeSet<_>>::new();
    for line in page().lines().filter(|it| !it.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let labels = label.captures_iter(line).map(|it| it[1].to_owned());
        found.entry(name.to_owned()).or_default().extend(labels);
    }
    found
}

/// All expressions in the dashboard and the alerts.
fn expressions() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let rules: Value = serde_saphyr::from_str(ALERTS).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter().flat_map(|it| it["targets"].as_array());
    let alerts = rules["groups"].as_array().unwrap().iter().flat_map(|it| it["rules"].as_array());
    let variables =
        dashboard["templating"]["list"].as_array().unwrap().iter().filter_map(|it| it["definition"].as_str());
    let expressions = panels.chain(alerts).flatten().map(|it| it["expr"].as_str().unwrap());
    expressions.chain(variables).map(str::to_owned).collect()
}

/// The metrics in an expression, each with its label selector.
fn selectors(expression: &str) -> Vec<(String, String)> {
    let selector = Regex::new(r"(benchwright_operator_\w+)(?:\{([^}]*)\})?").unwrap();
    let part = |it: Option<regex::Match<'_>>| it.map_or("", |it| it.as_str()).to_owned();
    selector.captures_iter(expression).map(|it| (part(it.get(1)), part(it.get(2)))).collect()
}

#[test]
fn dashboard_and_alerts_name_metrics_labels_and_values_that_exist_and_all_metrics_are_shown() {
    // Labels that Prometheus adds.
    const ADDED: [&str; 3] = ["namespace", "job", "pod"];
    let series = series();
    let matcher = Regex::new(r#"(\w+)[!=~]+"([^"]*)""#).unwrap();
    let group = Regex::new(r"by \(([\w, ]+)\)").unwrap();
    let mut shown = BTreeSet::new();
    for expression in expressions() {
        let found = selectors(&expression);
        let mut labels: BTreeSet<&str> = ADDED.into();
        for (name, braces) in &found {
            let own = series.get(name).unwrap_or_else(|| panic!("{name} is not a metric: {expression}"));
            labels.extend(own.iter().map(String::as_str));
            shown.insert(name.trim_end_matches("_bucket").to_owned());
            for it in matcher.captures_iter(braces) {
                let (label, values) = (&it[1], &it[2]);
                assert!(own.contains(label) || ADDED.contains(&label), "{name} has no label {label}: {expression}");
                assert!(values.starts_with('$') || values.split('|').all(|it| is_value(label, it)), "{expression}");
            }
        }
        if !found.is_empty() {
            for label in
                group.captures_iter(&expression).flat_map(|it| it[1].split(", ").map(str::to_owned).collect::<Vec<_>>())
            {
                assert!(labels.contains(label.as_str()), "no label {label}: {expression}");
            }
        }
    }
    let histogram =
        |it: &str| it.trim_end_matches("_bucket").trim_end_matches("_sum").trim_end_matches("_count").to_owned();
    let all: BTreeSet<String> = series.keys().map(|it| histogram(it)).collect();
    assert!(all.len() >= 16, "{all:?}");
    assert_eq!(shown, all);
}

/// Whether the operator ever sets a label to this value.
fn is_value(label: &str, value: &str) -> bool {
    match label {
        "phase" => Phase::ALL.iter().any(|it| it.name() == value),
        "outcome" => value.is_empty() || Outcome::ALL.iter().any(|it| it.name() == value),
        // The reason of a failed turn or of an attempt.
        "reason" => value == Error::Outdated.category() || Reason::named(value).is_some(),
        _ => false,
    }
}

#[test]
fn the_alert_on_attempts_counts_the_reasons_that_the_operator_shows_from_its_start() {
    let reasons = OF_THE_CLUSTER.map(Reason::name).join("|");
    assert!(ALERTS.contains(&format!("benchwright_operator_attempts_total{{reason=~\"{reasons}\"}}")), "{reasons}");
    let fresh = Metrics::default().text();
    for line in OF_THE_CLUSTER.map(|it| format!("benchwright_operator_attempts_total{{reason=\"{it}\"}} 0")) {
        assert!(fresh.lines().any(|it| it == line), "{line} is missing in {fresh}");
    }
    assert!(fresh.contains("benchwright_operator_phase_transitions_total{phase=\"Failed\"} 0"), "{fresh}");
}

/// The resources and verbs in the rules of a chart template.
fn granted(template: &'static str) -> Vec<(&'static str, &'static str)> {
    let lines =
        |start: &'static str| template.lines().filter_map(move |it| it.trim().strip_prefix(start)?.strip_suffix(']'));
    lines("resources: [").zip(lines("verbs: [")).collect()
}

#[test]
fn the_chart_grants_what_is_documented_and_nothing_on_secrets_logs_or_exec() {
    let chart = include_str!("../../charts/benchwright/templates/_helpers.tpl");
    let rules = &chart[chart.find("define \"benchwright.rules\"").unwrap()..];
    let servers = include_str!("../../charts/benchwright/templates/managed-servers.yaml");
    let [granted, of_servers] = [rules, servers].map(granted);
    assert_eq!((granted.len(), of_servers.len()), (20, 2), "{granted:?} {of_servers:?}");
    for (resource, verbs) in granted.into_iter().chain(of_servers) {
        assert!(
            DOC.contains(&format!("{resource} | {verbs} |")),
            "{resource}: {verbs} is not what docs/operator.md says"
        );
    }
    for never in ["secrets", "pods/log", "pods/exec", "\"*\"", "[*]"] {
        assert!(!rules.contains(never) && !servers.contains(never), "{never}");
    }
}

/// The test uses every possible value of every label, and ten thousand runs.
#[test]
fn ten_thousand_runs_give_at_most_two_hundred_series_without_a_name_of_a_run() {
    let metrics = Metrics::default();
    let outcomes = [Outcome::Passed, Outcome::SLOViolated, Outcome::Inconclusive, Outcome::Invalid, Outcome::Error];
    let states = (0..10_000).map(|it| match it % 20 {
        number if number < 6 => (Some(Phase::ALL[number]), None),
        number if number < 12 => (Some(Phase::Failed), Some(outcomes[number % outcomes.len()])),
        12 => (Some(Phase::Cancelled), Some(Outcome::Cancelled)),
        13 => (None, None),
        number => (Some(Phase::Succeeded), Some(outcomes[number % 3])),
    });
    metrics.count_runs(states);
    for phase in Phase::ALL {
        metrics.phase_changed(Some(phase));
        if !phase.is_terminal() {
            metrics.phase_left(phase, Duration::from_secs(1));
        }
    }
    // No attempt ends with these reasons: they are for schedules, for the progress of a server, or prevent a run from beginning.
    let of_others = [
        Reason::Scheduled,
        Reason::RunActive,
        Reason::RunStarted,
        Reason::RunSkipped,
        Reason::StartRefused,
        Reason::TriggeredRunFailed,
        Reason::CoolingDown,
        Reason::RunFailed,
        Reason::SweepSucceeded,
        Reason::SweepFailed,
        Reason::BudgetExceeded,
        Reason::ServerStarting,
        Reason::ServerStopping,
        Reason::ServerNotGone,
        Reason::TargetBusy,
        Reason::NamespaceBusy,
    ];
    for reason in Reason::ALL.iter().filter(|it| !of_others.contains(it)) {
        metrics.attempt_ended(*reason);
    }
    for (verb, resource) in [
        ("create", "jobs"),
        ("create", "configmaps"),
        ("create", "persistentvolumeclaims"),
        ("create", "networkpolicies"),
        ("delete", "networkpolicies"),
        ("delete", "configmaps"),
        ("create", "events"),
        ("delete", "jobs"),
        ("delete", "pods"),
        ("delete", "benchmarkruns"),
        ("create", "services"),
        ("create", "deployments"),
        ("delete", "services"),
        ("delete", "deployments"),
        ("patch", "benchmarkruns"),
        ("patch", "benchmarkruns/status"),
    ] {
        metrics.write(verb, resource);
    }
    for resource in ["benchmarkruns", "jobs", "pods"] {
        metrics.watch_failed(resource);
    }
    let text = metrics.text();
    let series = text.lines().filter(|it| !it.starts_with('#')).count();
    println!("figure 26: {series} series for 10,000 runs and every label value, without names of runs");
    assert!(series <= 200, "{series} series:\n{text}");
    let labels: Vec<_> = text.split(['{', ',']).filter_map(|it| it.split_once("=\"").map(|(name, _)| name)).collect();
    for label in ["phase", "outcome", "reason", "verb", "resource", "le"] {
        assert!(labels.contains(&label), "{label} is not tried");
    }
    assert!(labels.iter().all(|it| !["name", "run", "namespace", "uid"].contains(it)), "{labels:?}");
}
