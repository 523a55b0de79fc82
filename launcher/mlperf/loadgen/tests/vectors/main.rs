//! Compares this crate with recordings of MLCommons' own LoadGen library.
//!
//! `LOADGEN_VECTORS=DIR cargo test -p loadgen --test vectors` compares with the recordings in DIR instead of the project's own. DIR must have the
//! same layout. In both cases, the test prints to stderr how much it compared. If DIR lacks some files, the test reports this. If it has none of
//! them, the test fails.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

mod config;
mod early_stopping;
mod queries;
mod random;
mod runs;
mod summaries;

use std::{
    env, fs,
    io::{self, Write as _},
    path::PathBuf,
};

use serde_json::Value;

/// The folder that contains the recordings.
struct Folder {
    path: PathBuf,
    own: bool,
}

fn folder() -> Folder {
    let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    match env::var_os("LOADGEN_VECTORS").map(PathBuf::from) {
        None => Folder { path: package.join("tests/fixtures/loadgen-vectors"), own: true },
        // A relative path is meant from the root of the project, but a test runs in the folder of its package.
        Some(given) if given.exists() => Folder { path: given, own: false },
        Some(given) => Folder { path: package.join("../../..").join(given), own: false },
    }
}

/// Writes directly to stderr, because the test harness hides the output of passing tests.
fn tell(text: &str) {
    let mut out = io::stderr().lock();
    writeln!(out, "{text}").unwrap();
}

/// Reads a file of the folder. `None` if the file is missing in DIR; the project's own folder must have it.
fn read(name: &str) -> Option<Value> {
    let Folder { path, own } = folder();
    let file = path.join(name);
    if !own && !file.exists() {
        tell(&format!("{name}: not in {}, skipped", path.display()));
        return None;
    }
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())))
}

/// Runs `assert_case` for each entry of a list in a file, and reports the number of entries. The list must not be empty.
fn assert_each(name: &str, list: &str, assert_case: impl Fn(&Value)) {
    let Some(file) = read(name) else { return };
    let entries = file[list].as_array().unwrap_or_else(|| panic!("{name} has no {list}"));
    assert!(!entries.is_empty(), "{name} has no {list}");
    entries.iter().for_each(assert_case);
    tell(&format!("{name}: {} {list}", entries.len()));
}

/// The FNV-1a hash of eight-byte values, as in the recordings.
fn digest(values: impl IntoIterator<Item = u64>) -> String {
    let mut digest = 14_695_981_039_346_656_037u64;
    for byte in values.into_iter().flat_map(u64::to_le_bytes) {
        digest = (digest ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    }
    format!("{digest:016x}")
}

fn integers(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect()
}

#[test]
fn the_folder_has_recordings() {
    let Folder { path, .. } = folder();
    let known = [
        "random-primitives.json",
        "generated-queries.json",
        "early-stopping-min-queries.json",
        "config.json",
        "summaries.json",
        "runs",
    ];
    let found = known.iter().filter(|it| path.join(it).exists()).count();
    assert!(found > 0, "{} has none of {known:?}", path.display());
}

#[test]
fn draws_are_those_of_the_library() {
    assert_each("random-primitives.json", "cases", random::assert_case);
}

#[test]
fn queries_are_those_of_the_library() {
    assert_each("generated-queries.json", "cases", queries::assert_case);
}

#[test]
fn early_stopping_is_that_of_the_library() {
    assert_each("early-stopping-min-queries.json", "tables", early_stopping::assert_case);
}

#[test]
fn configuration_files_are_read_as_by_the_library() {
    assert_each("config.json", "cases", config::assert_case);
}

#[test]
fn results_are_those_of_the_library() {
    assert_each("summaries.json", "cases", summaries::assert_case);
}

#[test]
fn logs_of_runs_are_those_of_the_library() {
    let Folder { path, own } = folder();
    let path = path.join("runs");
    if !own && !path.exists() {
        return tell(&format!("runs: not in {}, skipped", path.display()));
    }
    let mut runs: Vec<PathBuf> = fs::read_dir(&path).unwrap().map(|it| it.unwrap().path()).collect();
    runs.sort();
    assert!(!runs.is_empty(), "{} has no runs", path.display());
    let lines: usize = runs.iter().map(|it| runs::assert_case(it)).sum();
    tell(&format!("runs: {} cases, {lines} lines of detail logs", runs.len()));
}
