//! What kstatus, Argo CD and Flux make of a run in each phase, by their own code. The runs have the statuses that the operator's
//! tests make; docs/gitops.md has the answers.

use std::fs;

use anyhow::{Context as _, ensure};
use e2e::tools;
use serde_json::Value;

const RUNS: &str = "e2e/tests/gitops/runs.jsonl";
const PAGE: &str = "docs/gitops.md";
const HEAD: &str = "| run | kstatus | Argo CD | as a sync hook | Flux |";

/// The table of the page, a row a run.
fn documented() -> anyhow::Result<Vec<String>> {
    let page = fs::read_to_string(tools::repository().join(PAGE))?;
    let table = page.split_once(HEAD).with_context(|| format!("{PAGE} has no table {HEAD}"))?.1;
    Ok(table.lines().skip(2).take_while(|it| it.starts_with('|')).map(str::to_owned).collect())
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
            // Who reads the health of a finished run is told why.
            let outcome = said(&run["object"]["status"]["outcome"]);
            let told = said(&answer["argo"]["message"]);
            ensure!(told.starts_with(&outcome) || told.contains("last change"), "{}: {told:?}", run["case"]);
        }
    }
    println!("{}", found.join("\n"));
    assert_eq!(found, documented()?, "the tools' answers are the lines above; {PAGE} has others");
    Ok(())
}
