//! Checks that all tests which `threads.md` names exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

const THREADS: &str = include_str!("threads.md");
/// Minimum number of threads in the table that have a test.
const FEWEST: usize = 30;

/// The threads of the table that have tests: thread -> names of its tests.
fn rows() -> BTreeMap<String, Vec<String>> {
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|it| it.trim().to_owned()).collect::<Vec<_>>();
    let rows = THREADS.lines().filter(|it| it.starts_with("| ") && it.contains('#')).map(cells);
    rows.filter_map(|it| Some((it.first()?.clone(), names(it.get(2)?)))).collect()
}

/// The names in backquotes.
fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

/// The names of all functions with a test attribute.
fn tests() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    ["crds", "e2e", "launcher", "operator", "workload-profiles"]
        .iter()
        .for_each(|it| rust_files(&root.join(it), &mut files));
    let mut found = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            let name = line.split_once("fn ").map(|(_, name)| name.split('(').next().unwrap_or_default());
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            if let Some(name) = name.filter(|_| is_test) {
                found.insert(name.to_owned());
                is_test = false;
            }
        }
    }
    found
}

#[test]
fn every_thread_names_a_test_that_exists() {
    let (rows, tests) = (rows(), tests());
    let covered = rows.values().filter(|it| !it.is_empty()).count();
    assert!(covered >= FEWEST, "{covered} threads have a test");
    let unknown: Vec<_> = rows.values().flatten().filter(|it| !tests.contains(*it)).collect();
    assert_eq!(unknown, Vec::<&String>::new(), "tests that threads.md names and that do not exist");
    println!(
        "figure 5: {covered} problems have a test; {} are in features that Benchwright lacks: see [Threads](#threads)",
        rows.len() - covered
    );
}
