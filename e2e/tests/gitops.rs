//! How kstatus, Argo CD and Flux judge a run in each phase, determined with the code of these tools. The runs with their statuses come from the
//! operator's tests. `gitops/health.md` contains the results, and docs/gitops.md summarizes them.

use std::{collections::BTreeSet, fs};

use anyhow::{Context as _, ensure};
use e2e::tools;
use serde_json::Value;

const RUNS: &str = "e2e/tests/gitops/runs.jsonl";
const PAGE: &str = "docs/gitops.md";
/// The page with the table of results, which has one row per run.
const HEALTH: &str = "e2e/tests/gitops/health.md";
/// The header of the table in [`HEALTH`].
const HEALTH_HEAD: &str = "| run | kstatus | Argo CD | as a sync hook | Flux |";
/// The page with the messages that the tests of Flux have seen.
const MESSAGES: &str = "e2e/tests/gitops/flux.md";
/// The header of the table in [`MESSAGES`].
const MESSAGES_HEAD: &str = "| message of the Kustomization | cause | remedy |";

/// The rows of the table with this header.
fn rows(file: &str, head: &str) -> anyhow::Result<Vec<String>> {
    let page = fs::read_to_string(tools::repository().join(file))?;
    let table = page.split_once(head).with_context(|| format!("{file} has no table {head}"))?.1;
    Ok(table.lines().skip(2).take_while(|it| it.starts_with('|')).map(str::to_owned).collect())
}

/// The results in a table, without the column of the runs.
fn answers(file: &str) -> anyhow::Result<BTreeSet<String>> {
    let rows = rows(file, HEALTH_HEAD)?;
    Ok(rows.iter().filter_map(|it| it.split_once(" | ")).map(|(_, answers)| answers.to_owned()).collect())
}

#[test]
fn the_page_has_every_combination_of_answers() -> anyhow::Result<()> {
    assert_eq!(answers(PAGE)?, answers(HEALTH)?);
    Ok(())
}

#[test]
fn the_page_explains_messages_that_flux_has_sent() -> anyhow::Result<()> {
    let messages = fs::read_to_string(tools::repository().join(MESSAGES))?;
    let rows = rows(PAGE, MESSAGES_HEAD)?;
    assert_eq!(rows.len(), 4);
    for row in rows {
        let text = row.split('`').nth(1).with_context(|| format!("no message in {row}"))?;
        ensure!(messages.contains(text), "{MESSAGES} has no message with {text:?}");
    }
    Ok(())
}

#[test]
fn the_page_shows_the_files() -> anyhow::Result<()> {
    let page = fs::read_to_string(tools::repository().join(PAGE))?;
    for file in ["argocd-hook.yaml", "flux.yaml", "flux-chart.yaml", "kustomize/kustomization.yaml"] {
        let text = fs::read_to_string(tools::repository().join("examples/gitops").join(file))?;
        let objects: String = text.lines().skip_while(|it| it.starts_with('#')).map(|it| format!("{it}\n")).collect();
        assert!(page.contains(&format!("```yaml\n{objects}```")), "{PAGE} does not show {file}");
    }
    Ok(())
}

#[test]
#[ignore = "needs the part gitops-health of the cluster: make gitops"]
fn each_tool_reads_each_run_as_documented() -> anyhow::Result<()> {
    let text = fs::read_to_string(tools::repository().join(RUNS))?;
    let runs: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let objects: Vec<String> = runs.iter().map(|it| it["object"].to_string()).collect();
    let answers = tools::gitops_health(&objects.join("\n"))?;
    let answers: Vec<Value> = answers.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(answers.len() == runs.len(), "{} answers to {} runs", answers.len(), runs.len());
    let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for (run, answer) in runs.iter().zip(&answers) {
        let [kstatus, argo, flux] = ["kstatus", "argo", "flux"].map(|it| said(&answer[it]["status"]));
        found.push(format!(
            "| {} | {kstatus} | {argo} | {} | {flux} |",
            said(&run["case"]),
            said(&answer["argo"]["hook"])
        ));
        if run["object"]["status"]["outcome"].is_string() && run["object"]["metadata"]["deletionTimestamp"].is_null() {
            // The health message of a finished run must contain its outcome.
            let outcome = said(&run["object"]["status"]["outcome"]);
            let told = said(&answer["argo"]["message"]);
            ensure!(told.starts_with(&outcome) || told.contains("last change"), "{}: {told:?}", run["case"]);
        }
    }
    println!("{}", found.join("\n"));
    assert_eq!(found, rows(HEALTH, HEALTH_HEAD)?, "the tools' answers are the lines above; {HEALTH} has others");
    Ok(())
}
