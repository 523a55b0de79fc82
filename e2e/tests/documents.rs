//! The real kubectl reads every YAML text of README, docs and examples, and reads in it what this project's reader does. It
//! needs no cluster.

use std::{fs, path::PathBuf};

use anyhow::{Context, ensure};
use crds::yaml;
use e2e::tools;
use serde_json::{Value, json};

/// The files in a folder of the repository whose names end so.
fn files(folder: &str, ending: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(tools::repository().join(folder))? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A part of an object becomes a whole one: kubectl reads nothing else.
fn object(text: &str) -> String {
    if text.lines().any(|it| it.starts_with("apiVersion:")) {
        return text.to_owned();
    }
    let indented: String = text.lines().map(|it| format!("  {it}\n")).collect();
    format!("apiVersion: example.dev/v1\nkind: Part\nmetadata: {{name: part}}\nspec:\n{indented}")
}

/// Every YAML text as an object, with its place.
fn documents() -> anyhow::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for path in files("docs", "md")?.into_iter().chain([tools::repository().join("README.md")]) {
        for (number, block) in fs::read_to_string(&path)?.split("```yaml\n").skip(1).enumerate() {
            let text = block.split("```").next().unwrap_or_default();
            // A template is YAML only once it is rendered.
            if !text.contains("{%") {
                found.push((format!("{}, block {number}", path.display()), object(text)));
            }
        }
    }
    for path in files("examples", "yaml")? {
        found.push((path.display().to_string(), object(&fs::read_to_string(&path)?)));
    }
    ensure!(found.len() >= 10, "the documents were not found: {found:?}");
    Ok(found)
}

/// What kubectl makes of an object, without asking an API server. It adds an annotation.
fn read_by_kubectl(text: &str) -> anyhow::Result<Value> {
    let path = std::env::temp_dir().join(format!("benchwright-document-{}.yaml", std::process::id()));
    fs::write(&path, text)?;
    let file = path.to_str().context("the temporary folder's path is no UTF-8")?;
    let read = tools::kubectl(&["annotate", "--local", "--filename", file, "x=y", "--output", "json"]);
    fs::remove_file(&path)?;
    Ok(serde_json::from_str(&read?)?)
}

#[test]
#[ignore = "needs kubectl: make e2e"]
fn kubectl_reads_every_documented_yaml_as_we_do() -> anyhow::Result<()> {
    for (place, text) in documents()? {
        let document = yaml::read(&text).ok().flatten().with_context(|| format!("{place} is no YAML document"))?;
        let problems = [document.problems, document.ambiguous_keys].concat();
        ensure!(problems.is_empty(), "{place}: {problems:?}");
        let mut ours = document.root.to_json();
        ours["metadata"]["annotations"]["x"] = json!("y");
        let theirs = read_by_kubectl(&text).with_context(|| place.clone())?;
        ensure!(ours == theirs, "{place}: we read {ours:#}, kubectl reads {theirs:#}");
    }
    Ok(())
}
