//! Checks circular dependencies between files: no circle, in which each file uses the next one, has more than three files.
//!
//! A file uses another file if it names an item that the other file defines. Re-exports are followed to the definition. Methods do not count, because
//! only a compiler knows their types. Test code does not count.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod source;

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use crate::arrows::cargo;
use source::Source;

/// Maximum number of files in an allowed circle.
const MOST: usize = 3;

/// Returns the root files of the libraries and programs of each crate.
fn roots() -> Vec<(String, String)> {
    let text = cargo(&["metadata", "--locked", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&text).unwrap();
    let mut roots = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        for target in package["targets"].as_array().unwrap() {
            if target["kind"] == "lib" || ["lib", "bin"].iter().any(|it| target["kind"][0] == *it) {
                let text = |it: &Value| it.as_str().unwrap().to_owned();
                roots.push((text(&package["name"]), text(&target["src_path"])));
            }
        }
    }
    roots
}

#[test]
fn no_circle_of_files_is_large() {
    let mut largest: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for (package, root) in roots() {
        for circle in Source::read(Path::new(&root)).circles(MOST) {
            let entry = largest.entry(package.clone()).or_default();
            if circle.len() > entry.0 {
                *entry = (circle.len(), circle.join("\n"));
            }
        }
    }
    let larger: Vec<String> = largest
        .iter()
        .map(|(package, (count, files))| format!("{count} files of {package}, and {MOST} are allowed:\n{files}"))
        .collect();
    assert!(
        larger.is_empty(),
        "files use each other in circles; move what they share into a file that uses none of them:\n{}",
        larger.join("\n")
    );
}

/// Returns the circles in a crate with these files.
fn circles(files: &[(&str, &str)], most: usize) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let found = Source::read(&folder.path().join("lib.rs")).circles(most);
    let name = |it: &String| Path::new(it).strip_prefix(folder.path()).unwrap().display().to_string();
    found.iter().map(|circle| circle.iter().map(name).collect()).collect()
}

#[test]
fn a_circle_goes_through_re_exports_macros_attributes_and_globs() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d; pub use a::A;"),
        ("a.rs", "pub struct A; fn f() { println!(\"{}\", crate::b::B); }"),
        ("b/mod.rs", "mod inner; pub use inner::B; #[path = \"other.rs\"] mod named;"),
        ("b/inner.rs", "use super::named::N; pub const B: u8 = N;"),
        ("b/other.rs", "pub const N: u8 = 1; #[serde(with = \"crate::c\")] struct S(C); use crate::c::*;"),
        ("c.rs", "pub struct C(crate::A);"),
        ("d.rs", "use crate::A; pub struct D(A);"),
    ];
    assert_eq!(circles(&files, 3), [["a.rs", "b/inner.rs", "b/other.rs", "c.rs"]]);
    assert!(circles(&files, 4).is_empty());
}

#[test]
fn tests_and_names_of_other_crates_make_no_circle() {
    let files = [
        ("lib.rs", "mod a; mod time; use a::f; pub const X: u8 = 0;"),
        ("a.rs", "use time::Duration; pub fn f(_: Duration) {}\n#[cfg(test)] mod tests { use crate::X; }"),
        ("time.rs", "pub(in crate::time) struct T; #[cfg(test)] use crate::a::f;"),
    ];
    assert!(circles(&files, 1).is_empty());
}
