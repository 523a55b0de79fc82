//! Finds the YAML texts in README, docs and examples.

use std::{fs, path::PathBuf};

use anyhow::ensure;

use crate::tools;

/// The files with this suffix in a folder of the repository.
///
/// # Errors
/// The folder cannot be read.
pub fn files(folder: &str, ending: &str) -> anyhow::Result<Vec<PathBuf>> {
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

/// Removes the indentation of the first line from all lines of a block.
fn at_the_margin(block: &str) -> String {
    let indentation = block.len() - block.trim_start_matches(' ').len();
    block.lines().map(|it| format!("{}\n", it.get(indentation..).unwrap_or_default())).collect()
}

/// Wraps a part of an object into a whole object, because kubectl reads only whole objects.
fn object(text: &str) -> String {
    if text.lines().any(|it| it.starts_with("apiVersion:")) {
        return text.to_owned();
    }
    let indented: String = text.lines().map(|it| format!("  {it}\n")).collect();
    format!("apiVersion: example.dev/v1\nkind: Part\nmetadata: {{name: part}}\nspec:\n{indented}")
}

/// All documents of a text as objects, each with its location.
fn each(place: &str, text: &str) -> Vec<(String, String)> {
    text.split("\n---\n").map(|it| (place.to_owned(), object(it))).collect()
}

/// All YAML texts as objects, each with its location. A part of an object is wrapped into an object of the API group `example.dev`.
///
/// # Errors
/// A file cannot be read, or there are no texts.
pub fn all() -> anyhow::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let pages = ["docs", "docs/how-to", "docs/tutorial"]
        .into_iter()
        .map(|it| files(it, "md"))
        .collect::<Result<Vec<_>, _>>()?;
    for path in pages.concat().into_iter().chain([tools::repository().join("README.md")]) {
        for (number, block) in fs::read_to_string(&path)?.split("```yaml\n").skip(1).enumerate() {
            let text = block.split("```").next().unwrap_or_default();
            // A template is left out, because it is only valid YAML after rendering.
            if !text.contains("{%") {
                found.extend(each(&format!("{}, block {number}", path.display()), &at_the_margin(text)));
            }
        }
    }
    let folders = ["examples", "examples/gitops", "examples/gitops/kustomize", "examples/extending", "examples/how-to"];
    for path in folders.into_iter().map(|it| files(it, "yaml")).collect::<Result<Vec<_>, _>>()?.concat() {
        found.extend(each(&path.display().to_string(), &fs::read_to_string(&path)?));
    }
    ensure!(found.len() >= 10, "the documents were not found: {found:?}");
    Ok(found)
}
