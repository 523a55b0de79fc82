//! Tests with sets of chart values as users might set them: each passes helm's strict lint, and the API server accepts the rendered chart.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use e2e::tools;

/// Minimum number of sets. It reveals a missing folder.
const FEWEST_SETS: usize = 9;

fn chart() -> PathBuf {
    tools::repository().join("charts/benchwright")
}

/// Names and paths of the files with values.
fn sets() -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(chart().join("ci"))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|it| it.to_str()).and_then(|it| it.strip_suffix("-values.yaml"));
        found.push((name.context("a file of values ends in -values.yaml")?.to_owned(), path.clone()));
    }
    found.sort();
    ensure!(found.len() >= FEWEST_SETS, "found {found:?}");
    Ok(found)
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("the repository's path is no UTF-8")
}

fn rendered(values: &Path, further: &[&str]) -> anyhow::Result<String> {
    let chart = chart();
    let mut arguments =
        vec!["template", "golden", text(&chart)?, "--namespace", "benchwright", "--values", text(values)?];
    arguments.extend(["--kube-version", "1.34.4"]);
    arguments.extend(further);
    tools::helm(&arguments)
}

#[test]
#[ignore = "needs helm: make e2e"]
fn every_set_of_values_passes_the_strict_lint_and_the_default_renders_as_recorded() -> anyhow::Result<()> {
    let chart = chart();
    for (name, values) in sets()? {
        let linted = tools::helm(&["lint", "--strict", text(&chart)?, "--values", text(&values)?]);
        let linted = linted.with_context(|| name.clone())?;
        assert!(linted.contains("0 chart(s) failed"), "{name}: {linted}");
    }
    // The CRDs are left out, because they have a test of their own and would make the file many times as long.
    let found = rendered(&chart.join("ci/default-values.yaml"), &["--set", "crds.install=false"])?;
    let path = tools::repository().join("e2e/tests/golden/chart.yaml");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().context("a file has a folder")?)?;
        fs::write(&path, &found)?;
    }
    let expected = fs::read_to_string(&path).with_context(|| format!("no {}", path.display()))?;
    assert!(found == expected, "the chart renders differently; look at the difference after UPDATE_GOLDEN=1");
    Ok(())
}

/// The objects of a rendered chart that the API server knows. Without the CRDs of the Prometheus Operator, the objects of these kinds are left out.
fn known(text: &str, with_monitoring: bool) -> String {
    let documents = text.split("\n---\n");
    let known = documents.filter(|it| with_monitoring || !it.contains("apiVersion: monitoring.coreos.com/"));
    known.collect::<Vec<_>>().join("\n---\n")
}

#[test]
fn objects_of_the_prometheus_operator_are_left_out_where_it_is_not_installed() {
    let text = "---\nkind: A\n---\napiVersion: monitoring.coreos.com/v1\nkind: B\n---\nkind: C\n";
    assert_eq!(known(text, false), "---\nkind: A\n---\nkind: C\n");
    assert_eq!(known(text, true), text);
}

#[test]
#[ignore = "needs a cluster: make e2e"]
fn the_api_server_takes_what_every_set_of_values_renders() -> anyhow::Result<()> {
    let mut made = Vec::new();
    for namespace in ["benchwright", "team-a", "team-b"] {
        match tools::kubectl(&["create", "namespace", namespace]) {
            Ok(_) => made.push(namespace),
            Err(error) => ensure!(error.to_string().contains("AlreadyExists"), "{error}"),
        }
    }
    // The CRDs are only installed into our own cluster, and only if they have been built.
    let definitions = tools::prometheus_definitions().filter(|_| std::env::var_os("KUBECONFIG").is_none());
    if let Some(definitions) = &definitions {
        tools::kubectl(&["apply", "--server-side", "--filename", text(definitions)?])?;
        tools::kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "--filename", text(definitions)?])?;
    }
    let all = sets()?;
    for (name, values) in &all {
        let path = std::env::temp_dir().join(format!("benchwright-chart-{}.yaml", std::process::id()));
        fs::write(&path, known(&rendered(values, &["--no-hooks"])?, definitions.is_some()))?;
        let arguments = ["apply", "--dry-run=server", "--validate=strict", "--filename"];
        let taken = tools::kubectl(&[&arguments[..], &[text(&path)?]].concat());
        fs::remove_file(&path)?;
        let taken = taken.with_context(|| name.clone())?;
        assert!(taken.contains("deployment.apps/"), "{name}: {taken}");
        if name == "monitoring" {
            let monitored = ["podmonitor.monitoring.coreos.com/", "prometheusrule.monitoring.coreos.com/"];
            assert!(definitions.is_none() || monitored.iter().all(|it| taken.contains(it)), "{name}: {taken}");
        }
    }
    println!("figure 24: the API server accepts the manifests of {} values files", all.len());
    match &definitions {
        Some(definitions) => {
            tools::kubectl(&["delete", "--wait=false", "--filename", text(definitions)?])?;
        }
        None => println!("NOT TESTED: PodMonitor and PrometheusRule on an API server"),
    }
    if !made.is_empty() {
        tools::kubectl(&[&["delete", "namespace", "--wait=false"], &made[..]].concat())?;
    }
    Ok(())
}
