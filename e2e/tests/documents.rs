//! The real kubectl reads every YAML text in README, docs and examples, and must interpret it like this project's reader. No cluster is needed.

use std::{fs, path::Path};

use anyhow::{Context, ensure};
use crds::{benchmark_run::MAX_NAME_BYTES, schema, yaml};
use e2e::{documents, tools};
use serde_json::{Value, json};

/// An object as kubectl reads it, without a request to an API server. kubectl adds an annotation.
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
    for (place, text) in documents::all()? {
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

/// The objects that kustomize builds from a folder.
fn built(folder: &Path) -> anyhow::Result<Vec<Value>> {
    let text = tools::kubectl(&["kustomize", folder.to_str().context("the folder's path is no UTF-8")?])?;
    let mut objects = Vec::new();
    for part in text.split("\n---\n") {
        let document = yaml::read(part).ok().flatten().with_context(|| format!("no YAML: {part}"))?;
        let is_run = document.root.get("kind").and_then(|it| it.value.text()) == Some("BenchmarkRun");
        let problems = if is_run { schema::check(&document.root).problems } else { Vec::new() };
        ensure!(problems.is_empty(), "{part}: {problems:?}");
        objects.push(document.root.to_json());
    }
    Ok(objects)
}

#[test]
#[ignore = "needs kubectl: make e2e"]
fn the_kustomize_recipe_names_a_run_by_its_profile() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for path in documents::files("examples/gitops/kustomize", "yaml")? {
        fs::copy(&path, folder.path().join(path.file_name().context("a file has a name")?))?;
    }
    let mut names = Vec::new();
    for profile in ["stages: [{rate: 5, duration: 30}]", "stages: [{rate: 6, duration: 30}]"] {
        let path = folder.path().join("chat.yaml");
        fs::write(&path, format!("load: {{type: constant, {profile}}}\n"))?;
        let objects = built(folder.path())?;
        let [config_map, run] = &objects[..] else { anyhow::bail!("a ConfigMap and a run: {objects:?}") };
        let name = run["metadata"]["name"].as_str().unwrap_or_default();
        assert_eq!(config_map["metadata"]["name"].as_str(), Some(name));
        assert_eq!(run["spec"]["profile"]["configMapRef"]["name"].as_str(), Some(name));
        assert!(name.starts_with("chat-") && name.len() <= MAX_NAME_BYTES, "{name}");
        names.push(name.to_owned());
    }
    assert_ne!(names[0], names[1], "another profile is another run");

    // docs/gitops.md says that kustomize refuses a run without a name.
    fs::write(
        folder.path().join("run.yaml"),
        "apiVersion: benchwright.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {generateName: chat-}\n",
    )?;
    let refused = built(folder.path()).err().context("kustomize takes generateName")?;
    assert!(format!("{refused:?}").contains("missing metadata.name"), "{refused:?}");
    Ok(())
}
