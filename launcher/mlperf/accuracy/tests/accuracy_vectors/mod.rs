//! Compares the figures of the crate with those of the Python programs that MLPerf uses.
//!
//! `ACCURACY_VECTORS=DIR cargo test -p accuracy --test tests accuracy_vectors::` compares with the vectors in DIR instead of the project's own. DIR
//! must have the same layout. The test always prints to stderr how much it compared. If DIR lacks some files, the test reports this. If it has none
//! of them, the test fails.
//!
//! To split sentences, the tests need Punkt's tables, which are not part of the project. `PUNKT_DATA` names their folder, and `make accuracy-vectors`
//! downloads them. Without the tables, the test reports what it did not compare.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

mod answers;
mod mmlu;
mod runs;
mod templates;
mod texts;

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use accuracy::punkt::Punkt;
use serde_json::Value;

/// The folder that contains the vectors.
struct Folder {
    path: PathBuf,
    own: bool,
}

fn folder() -> Folder {
    let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    match env::var_os("ACCURACY_VECTORS").map(PathBuf::from) {
        None => Folder { path: package.join("tests/fixtures/accuracy-vectors"), own: true },
        Some(given) => Folder { path: from_root(given), own: false },
    }
}

/// A relative path is meant from the root of the project, but a test runs in the folder of its package.
fn from_root(path: PathBuf) -> PathBuf {
    if path.exists() { path } else { Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path) }
}

/// Writes directly to stderr, because the test harness hides the output of passing tests.
fn say(text: &str) {
    let mut out = io::stderr().lock();
    writeln!(out, "{text}").unwrap();
}

#[test]
fn the_folder_has_vectors() {
    let Folder { path, .. } = folder();
    let names =
        ["porter_nltk.tsv", "rouge_pairs.json", "answer_extraction.json", "mmlu.json", "chat_templates.json", "e2e"];
    assert!(names.iter().any(|it| path.join(it).exists()), "{} has none of {names:?}", path.display());
}

/// Reads a file of the folder. `None` if the file is missing in DIR; the project's own folder must have it.
fn text_of(name: &str) -> Option<String> {
    bytes_of(name).map(|it| String::from_utf8(it).unwrap())
}

fn bytes_of(name: &str) -> Option<Vec<u8>> {
    let Folder { path, own } = folder();
    let file = path.join(name);
    if !own && !file.exists() {
        say(&format!("NOT COMPARED: {name}, which is not in {}", path.display()));
        return None;
    }
    Some(fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())))
}

fn json_of(name: &str) -> Option<Value> {
    text_of(name).map(|it| serde_json::from_str(&it).unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// Returns the entries of a list, and checks that it is not empty.
fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    let list = value.as_array().unwrap_or_else(|| panic!("{name} is no list"));
    assert!(!list.is_empty(), "{name} is empty");
    list
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(string).collect()
}

/// Returns Punkt's tables; `None` if they are not on this machine.
fn punkt() -> Option<Punkt> {
    let name = |it: &str| PathBuf::from(it).join("tokenizers/punkt_tab/english");
    let places = [
        env::var_os("PUNKT_DATA").map(|it| from_root(it.into())),
        env::var("NLTK_DATA").ok().map(|it| name(&it)),
        Some(from_root("target/punkt_tab/english".into())),
        env::var("HOME").ok().map(|it| name(&format!("{it}/nltk_data"))),
        Some(name("/usr/share/nltk_data")),
    ];
    let given = env::var_os("PUNKT_DATA").is_some();
    let place = places.into_iter().flatten().find(|it| given || it.is_dir())?;
    Some(Punkt::read(|name| fs::read(place.join(name))).unwrap_or_else(|error| panic!("{}: {error}", place.display())))
}

/// Returns Punkt's tables. If they are missing, reports that `what` cannot be compared.
fn punkt_for(what: &str) -> Option<Punkt> {
    let punkt = punkt();
    if punkt.is_none() {
        say(&format!(
            "NOT COMPARED: {what}, without Punkt's tables; `make accuracy-vectors` fetches them, or PUNKT_DATA names their folder"
        ));
    }
    punkt
}
