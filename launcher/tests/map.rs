//! Compares the map, the pictures and the tables in docs/architecture.md with the folders and crates that exist.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::arrows::{cargo, direct};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn page(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// Returns the folder of each crate, relative to the root of the repository.
fn crate_folders() -> BTreeMap<String, PathBuf> {
    let text = cargo(&["metadata", "--locked", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&text).unwrap();
    let root = PathBuf::from(metadata["workspace_root"].as_str().unwrap());
    let folder = |it: &Value| {
        let manifest = Path::new(it["manifest_path"].as_str().unwrap());
        manifest.parent().unwrap().strip_prefix(&root).unwrap().to_owned()
    };
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages.map(|it| (it["name"].as_str().unwrap().to_owned(), folder(it))).collect()
}

/// Returns the folders at the root, without hidden folders and those that git ignores.
fn top_folders() -> BTreeSet<String> {
    let ignored = page(".gitignore");
    let is_ignored = |name: &str| ignored.lines().any(|it| it.trim_matches('/') == name);
    let entries = fs::read_dir(root()).unwrap().map(|it| it.unwrap()).filter(|it| it.file_type().unwrap().is_dir());
    let names = entries.map(|it| it.file_name().into_string().unwrap());
    names.filter(|it| !it.starts_with('.') && !is_ignored(it)).collect()
}

/// Returns the part of a page between this second-level heading and the next one.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split("\n## ").next().unwrap()
}

/// Returns the first code block of a text.
fn code_block(text: &str) -> &str {
    text.split("```text\n").nth(1).unwrap().split("\n```").next().unwrap()
}

/// Returns the folders of a map. Each level is indented by two more spaces.
fn mapped(map: &str) -> BTreeSet<PathBuf> {
    let mut levels: Vec<&str> = Vec::new();
    let mut folders = BTreeSet::new();
    for line in map.lines() {
        let text = line.trim_start();
        let name = text.split(' ').next().unwrap().strip_suffix('/').unwrap_or_else(|| panic!("no folder: {line}"));
        levels.truncate((line.len() - text.len()) / 2);
        levels.push(name);
        folders.insert(levels.iter().collect());
    }
    folders
}

#[test]
fn the_map_of_the_repository_has_each_folder_and_each_crate() {
    let folders = mapped(code_block(section(&page("docs/architecture.md"), "Repository")));
    for folder in &folders {
        assert!(root().join(folder).is_dir(), "the map has {}, which is no folder", folder.display());
    }
    for (name, folder) in crate_folders() {
        assert!(folders.contains(&folder), "the map lacks {}, the crate {name}", folder.display());
    }
    for folder in top_folders() {
        assert!(folders.iter().any(|it| it.starts_with(&folder)), "the map lacks {folder}/");
    }
}

/// Returns the chains in a picture. A chain is a list of groups of crates, and each group is used by the next one. Two spaces end a chain, and `...`
/// stands for omitted crates. If the picture continues the line above, or says `all of these`, the first group is empty.
fn chains(picture: &str) -> Vec<Vec<Vec<&str>>> {
    let mut chains = Vec::new();
    for line in picture.lines() {
        let mut parts = line.split("<-").map(|it| it.trim_start_matches('-')).collect::<Vec<_>>();
        let last = parts.pop().unwrap().trim_start();
        parts.push(last.split("  ").next().unwrap());
        let lists = parts.iter().map(|it| {
            let names = it.split(',').map(str::trim);
            names.filter(|it| !["", "...", "all of these"].contains(it)).collect()
        });
        chains.push(lists.collect());
    }
    chains
}

#[test]
fn the_picture_of_the_architecture_names_each_crate_and_draws_true_arrows() {
    let page = page("docs/architecture.md");
    let section = section(&page, "Who may depend on whom");
    let picture = code_block(section);
    let direct = direct();
    let mut drawn = BTreeSet::new();
    for chain in chains(picture) {
        for name in chain.iter().flatten() {
            assert!(direct.contains_key(*name), "the picture of docs/architecture.md has {name}, which is no crate");
            drawn.insert(*name);
        }
        for pair in chain.windows(2) {
            for (used, user) in pair[0].iter().flat_map(|used| pair[1].iter().map(move |user| (used, user))) {
                assert!(
                    direct[*user].contains(*used),
                    "the picture has {used} <- {user}, and {user} does not use {used}"
                );
            }
        }
    }
    for name in direct.keys() {
        let is_named = drawn.contains(name.as_str()) || section.contains(&format!("`{name}`"));
        assert!(is_named, "docs/architecture.md does not name the crate {name}");
    }
}

/// Whether a crate has a module, or a public item in a module, with this path below `src`.
fn is_part(source: &Path, path: &[&str]) -> bool {
    let mut folder = source.to_owned();
    for (place, name) in path.iter().enumerate() {
        let next = folder.join(name);
        if next.is_dir() {
            folder = next;
            continue;
        }
        return place + 1 == path.len() && (next.with_extension("rs").is_file() || has_item(&folder, name));
    }
    true
}

/// Whether a file in a folder defines a public item with this name.
fn has_item(folder: &Path, name: &str) -> bool {
    let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_file());
    let texts: Vec<String> = files.map(|it| fs::read_to_string(it).unwrap()).collect();
    ["fn", "struct", "enum"].iter().any(|kind| texts.iter().any(|it| it.contains(&format!("pub {kind} {name}"))))
}

#[test]
fn each_part_in_the_table_of_the_architecture_exists() {
    let page = page("docs/architecture.md");
    let folders = crate_folders();
    let rows = section(&page, "Who may depend on whom").lines().filter_map(|it| it.strip_prefix("| `"));
    let cells: Vec<&str> = rows.filter_map(|it| it.split(" | ").next()).collect();
    assert!(cells.len() > 10, "the table has {} rows", cells.len());
    let exists = |part: &str| {
        let mut names = part.split("::");
        let folder = folders.get(&names.next().unwrap().replace('_', "-"));
        folder.is_some_and(|it| is_part(&root().join(it).join("src"), &names.collect::<Vec<_>>()))
    };
    let parts = cells.iter().flat_map(|it| it.split(", ")).map(|it| it.trim_matches('`'));
    let missing: Vec<&str> = parts.filter(|it| !exists(it)).collect();
    assert!(missing.is_empty(), "the table of docs/architecture.md has parts that do not exist: {missing:?}");
}

#[test]
fn each_path_in_the_architecture_exists() {
    let page = page("docs/architecture.md");
    let prose = page.split("```").step_by(2).collect::<String>();
    let top = top_folders();
    let is_path = |it: &&str| it.split_once('/').is_some_and(|(first, _)| top.contains(first)) && !it.contains('<');
    let paths: Vec<&str> = prose.split('`').skip(1).step_by(2).filter(is_path).collect();
    assert!(paths.len() > 10, "{paths:?}");
    let missing: Vec<&&str> = paths.iter().filter(|it| !root().join(it).exists()).collect();
    assert!(missing.is_empty(), "docs/architecture.md names paths that do not exist: {missing:?}");
}
