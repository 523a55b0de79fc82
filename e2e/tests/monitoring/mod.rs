//! Tests of the chart's dashboard and alerts: they are complete, and Prometheus' own checker accepts them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use anyhow::{Context as _, ensure};
use e2e::tools;
use regex::Regex;
use serde_json::{Value, json};

/// Minimum number of panels. Fewer panels mean that the file was parsed wrongly.
const FEWEST_PANELS: usize = 30;
/// Minimum number of alerts. Fewer alerts mean that the file was parsed wrongly.
const FEWEST_ALERTS: usize = 8;
/// Number of columns of Grafana's grid.
const GRID: u64 = 24;

fn file(path: &str) -> PathBuf {
    tools::repository().join(path)
}

fn read(path: &str) -> anyhow::Result<String> {
    fs::read_to_string(file(path)).with_context(|| format!("cannot read {path}"))
}

fn dashboard() -> anyhow::Result<Value> {
    Ok(serde_json::from_str(&read("charts/benchwright/files/dashboard.json")?)?)
}

/// The panels that show data.
fn panels(dashboard: &Value) -> anyhow::Result<Vec<&Value>> {
    let all = dashboard["panels"].as_array().context("no panels")?;
    let panels: Vec<_> = all.iter().filter(|it| it["type"] != "row").collect();
    ensure!(panels.len() >= FEWEST_PANELS, "found {} panels", panels.len());
    Ok(panels)
}

fn alerts() -> anyhow::Result<Vec<Value>> {
    let rules: Value = serde_saphyr::from_str(&read("charts/benchwright/files/alerts.yaml")?)?;
    let groups = rules["groups"].as_array().context("no groups")?;
    let alerts: Vec<_> = groups.iter().flat_map(|it| it["rules"].as_array().cloned().unwrap_or_default()).collect();
    ensure!(alerts.len() >= FEWEST_ALERTS, "found {} alerts", alerts.len());
    Ok(alerts)
}

fn is_said(text: &Value) -> bool {
    text.as_str().is_some_and(|it| !it.trim().is_empty())
}

#[test]
fn every_panel_has_a_title_a_description_a_unit_and_legends() -> anyhow::Result<()> {
    let dashboard = dashboard()?;
    let mut titles = BTreeSet::new();
    for panel in panels(&dashboard)? {
        let unit = &panel["fieldConfig"]["defaults"]["unit"];
        assert!([&panel["title"], &panel["description"], unit].iter().all(|it| is_said(it)), "{panel}");
        assert!(titles.insert(panel["title"].to_string()), "two panels are called {}", panel["title"]);
        let targets = panel["targets"].as_array().context("no targets")?;
        assert!(!targets.is_empty(), "{panel}");
        for target in targets {
            assert!(is_said(&target["expr"]) && is_said(&target["legendFormat"]), "{panel}");
            assert_eq!(target["datasource"]["uid"], "${datasource}", "{panel}");
        }
    }
    Ok(())
}

#[test]
fn panels_have_their_own_numbers_and_places() -> anyhow::Result<()> {
    let dashboard = dashboard()?;
    let (mut numbers, mut taken) = (BTreeSet::new(), BTreeMap::new());
    for panel in dashboard["panels"].as_array().context("no panels")? {
        assert!(numbers.insert(panel["id"].as_u64().context("no id")?), "the id of {} is taken", panel["title"]);
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|it| panel["gridPos"][it].as_u64().unwrap_or(u64::MAX));
        assert!(x.saturating_add(w) <= GRID && w > 0 && (1..=40).contains(&h) && y < 10_000, "{}", panel["title"]);
        for place in (x..x + w).flat_map(|column| (y..y + h).map(move |line| (column, line))) {
            let other = taken.insert(place, &panel["title"]);
            assert_eq!(other, None, "{} lies over it", panel["title"]);
        }
    }
    Ok(())
}

/// The expressions of the dashboard, with numbers instead of Grafana's own variables.
fn expressions(dashboard: &Value) -> anyhow::Result<Vec<String>> {
    let targets = panels(dashboard)?.into_iter().flat_map(|it| it["targets"].as_array().into_iter().flatten());
    let expressions = targets.filter_map(|it| it["expr"].as_str());
    Ok(expressions.map(|it| it.replace("$__rate_interval", "1m").replace("$__range", "1h")).collect())
}

#[test]
fn expressions_use_the_variables_that_the_dashboard_has() -> anyhow::Result<()> {
    let dashboard = dashboard()?;
    let list = dashboard["templating"]["list"].as_array().context("no variables")?;
    let variables: BTreeSet<&str> = list.iter().filter_map(|it| it["name"].as_str()).collect();
    let name = Regex::new(r"\$(\w+)")?;
    let expressions = expressions(&dashboard)?;
    let used: BTreeSet<&str> = expressions
        .iter()
        .flat_map(|it| name.captures_iter(it).filter_map(|it| it.get(1)).map(|it| it.as_str()))
        .collect();
    assert_eq!(used, &variables - &BTreeSet::from(["datasource"]), "used and there");
    Ok(())
}

#[test]
fn every_alert_says_what_it_means_and_what_to_do() -> anyhow::Result<()> {
    let guide = read("docs/monitoring.md")?;
    for alert in alerts()? {
        let name = alert["alert"].as_str().context("no name")?;
        let annotations = &alert["annotations"];
        let texts = [&alert["expr"], &alert["for"], &annotations["summary"], &annotations["description"]];
        assert!(texts.iter().all(|it| is_said(it)), "{alert}");
        assert!(["warning", "critical"].map(Value::from).contains(&alert["labels"]["severity"]), "{alert}");
        assert_eq!(annotations["runbook"], format!("docs/monitoring.md, {name}"));
        assert!(guide.contains(&format!("\n| {name} | ")), "docs/monitoring.md has no row of {name}");
    }
    Ok(())
}

#[test]
fn every_alert_is_seen_to_fire_and_to_be_silent() -> anyhow::Result<()> {
    let cases: Value = serde_saphyr::from_str(&read("e2e/tests/monitoring/alerts.yaml")?)?;
    let tests = cases["tests"].as_array().context("no tests")?;
    let asked: Vec<&Value> =
        tests.iter().flat_map(|it| it["alert_rule_test"].as_array().into_iter().flatten()).collect();
    for alert in alerts()? {
        let of_it = || asked.iter().filter(|it| it["alertname"] == alert["alert"]);
        assert!(of_it().any(|it| it["exp_alerts"].is_array()), "{} never fires", alert["alert"]);
        assert!(of_it().any(|it| it["exp_alerts"].is_null()), "{} is never silent", alert["alert"]);
    }
    Ok(())
}

#[test]
#[ignore = "needs promtool: make e2e"]
fn prometheus_accepts_the_alerts_and_sees_them_fire() -> anyhow::Result<()> {
    let [rules, cases] = ["charts/benchwright/files/alerts.yaml", "e2e/tests/monitoring/alerts.yaml"].map(file);
    let [rules, cases] = [&rules, &cases].map(|it| it.to_str().context("the repository's path is no UTF-8"));
    let checked = tools::promtool(&["check", "rules", "--lint=all", "--lint-fatal", rules?])?;
    assert!(checked.contains(&format!("SUCCESS: {} rules found", alerts()?.len())), "{checked}");
    let tested = tools::promtool(&["test", "rules", cases?])?;
    assert!(tested.contains("SUCCESS"), "{tested}");
    Ok(())
}

#[test]
#[ignore = "needs promtool: make e2e"]
fn prometheus_accepts_every_expression_of_the_dashboard() -> anyhow::Result<()> {
    let expressions = expressions(&dashboard()?)?;
    let record =
        |(number, expression): (usize, &String)| json!({"record": format!("panel:{number}"), "expr": expression});
    let rules: Vec<Value> = expressions.iter().enumerate().map(record).collect();
    let mut written = tempfile::NamedTempFile::with_suffix(".yaml")?;
    serde_json::to_writer(&mut written, &json!({"groups": [{"name": "dashboard", "rules": rules}]}))?;
    let path = written.path().to_str().context("the temporary folder's path is no UTF-8")?;
    let checked = tools::promtool(&["check", "rules", "--lint=none", path])?;
    println!("{} expressions", expressions.len());
    assert!(checked.contains(&format!("SUCCESS: {} rules found", expressions.len())), "{checked}");
    Ok(())
}

#[test]
#[ignore = "needs helm: make e2e"]
fn the_chart_installs_the_files_as_they_are() -> anyhow::Result<()> {
    let [chart, values] = ["charts/benchwright", "charts/benchwright/ci/monitoring-values.yaml"].map(file);
    let [chart, values] = [&chart, &values].map(|it| it.to_str().context("the repository's path is no UTF-8"));
    let arguments = ["template", "golden", chart?, "--values", values?, "--kube-version", "1.34.4"];
    let text = tools::helm(&[&arguments[..], &["--show-only", "templates/monitoring.yaml"]].concat())?;
    let mut kinds = Vec::new();
    for document in text.split("\n---\n") {
        let object: Value = serde_saphyr::from_str(document)?;
        match object["kind"].as_str().context("no kind")? {
            "PrometheusRule" => {
                let file: Value = serde_saphyr::from_str(&read("charts/benchwright/files/alerts.yaml")?)?;
                assert_eq!(object["spec"], file);
            }
            "ConfigMap" => {
                let held = object["data"]["benchwright.json"].as_str().context("no dashboard")?;
                assert_eq!(serde_json::from_str::<Value>(held)?, dashboard()?);
                assert_eq!(object["metadata"]["labels"]["grafana_dashboard"], "1");
            }
            _ => assert_eq!(object["metadata"]["labels"]["release"], "prometheus"),
        }
        kinds.push(object["kind"].as_str().unwrap_or_default().to_owned());
    }
    kinds.sort();
    assert_eq!(kinds, ["ConfigMap", "PodMonitor", "PodMonitor", "PrometheusRule"]);
    Ok(())
}
