//! Compares files that pandas, numpy and other tools wrote with their expected content.
//!
//! `DATASET_FIXTURES=DIR cargo test -p data-sets --test tests dataset_fixtures::` uses the files in DIR instead of the project's own. The folder must
//! have the same layout. The tests print to stderr how many files they compared, and which files they skipped.

#![allow(clippy::unwrap_used, reason = "in helpers of tests as in tests themselves")]

mod columns;
mod mmlu;
mod python;

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde_json::Value;

/// The folder with the files.
fn folder() -> PathBuf {
    let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    match env::var_os("DATASET_FIXTURES").map(PathBuf::from) {
        None => package.join("tests/fixtures/dataset-fixtures"),
        // A relative path is meant from the root of the project, but a test runs in the folder of its package.
        Some(given) if given.exists() => given,
        Some(given) => package.join("../..").join(given),
    }
}

/// Prints directly to stderr, because the test harness hides the output of tests that pass.
fn say(text: &str) {
    writeln!(io::stderr().lock(), "{text}").unwrap();
}

/// The files in a subfolder, sorted by name. If the subfolder is missing, this is reported, and there are none.
fn files(part: &str) -> Vec<PathBuf> {
    let path = folder().join(part);
    let Ok(entries) = fs::read_dir(&path) else {
        say(&format!("NOT COMPARED: {part}, which is not in {}", folder().display()));
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|it| it.unwrap().path()).filter(|it| it.is_file()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", path.display());
    files
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|it| it.to_str()).unwrap()
}

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_folder_has_files() {
    let parts = ["pickle", "hostile-pickle", "json", "csv", "parquet", "npy"];
    assert!(parts.iter().any(|it| folder().join(it).exists()), "{} has none of {parts:?}", folder().display());
}

/// Compares two values. Numbers are compared by value, so that 1 equals 1.0.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64().is_some_and(|one| other.as_f64() == Some(one))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|it| is_equal(value, it)))
        }
        _ => one == other,
    }
}

fn assert_equal(found: &Value, expected: &Value, what: &str) {
    assert!(is_equal(found, expected), "{what}\n found {found}\nwanted {expected}");
}
