//! [I/O] Valid trees for tests, and changes that add one fault to a tree.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use tempfile::TempDir;
use workload_profiles::loadgen::Round;

use super::check;
use crate::{
    build,
    findings::Report,
    fixture::{Fixture, line},
    layout::Division,
};

/// A single change in a tree.
pub(super) enum Change {
    /// Sets the value of a key in a log or JSON file; `None` removes the key.
    Key(&'static str, Option<&'static str>),
    /// Appends a line to a log: key, value, and whether it is an error.
    Line(&'static str, &'static str, bool),
    /// Replaces one text in a file by another.
    Text(&'static str, &'static str),
    /// Replaces the whole content of a file.
    Content(Vec<u8>),
    /// Removes a file or folder.
    Gone,
    /// Removes everything in a folder.
    Emptied,
    /// Renames a file or folder.
    Renamed(&'static str),
    /// Moves a file or folder, and puts a link to it in its place.
    Linked,
}
fn apply(change: &Change, path: &Path) {
    use Change::{Content, Emptied, Gone, Key, Line, Linked, Renamed, Text};

    let edit = |edit: &dyn Fn(String) -> String| {
        let before = fs::read_to_string(path).unwrap();
        let after = edit(before.clone());
        assert_ne!(before, after, "the change of {} changes nothing", path.display());
        fs::write(path, after).unwrap();
    };
    match change {
        Key(key, value) if path.extension().is_some_and(|it| it == "json") => edit(&|text| {
            let mut object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
            match value {
                Some(value) => object.insert((*key).into(), (*value).into()),
                None => object.remove(*key),
            };
            serde_json::to_string(&object).unwrap()
        }),
        Key(key, value) => edit(&|text| {
            let kept = text.lines().filter_map(|it| match (it.contains(&format!("\"key\": \"{key}\"")), value) {
                (true, value) => value.map(|value| line(key, value, false)),
                (false, _) => Some(format!("{it}\n")),
            });
            kept.collect()
        }),
        Line(key, value, error) => edit(&|text| text + &line(key, value, *error)),
        Text(from, to) => edit(&|text| text.replacen(from, to, 1)),
        Content(bytes) => {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        Emptied => {
            if path.exists() {
                fs::remove_dir_all(path).unwrap();
            }
            fs::create_dir(path).unwrap();
        }
        Gone if path.is_dir() => fs::remove_dir_all(path).unwrap(),
        Gone => fs::remove_file(path).unwrap(),
        Renamed(name) => fs::rename(path, path.with_file_name(name)).unwrap(),
        Linked => {
            let moved: PathBuf = path.with_file_name("moved");
            fs::rename(path, &moved).unwrap();
            std::os::unix::fs::symlink(moved, path).unwrap();
        }
    }
}

/// Copies a folder with all its contents.
pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A copy of a valid tree, in its own folder.
pub(super) struct TreeCopy {
    folder: TempDir,
    pub(super) out: PathBuf,
}

/// Paths and contents of files.
type Files = Vec<(PathBuf, Vec<u8>)>;

/// All files of a valid tree, for each division. They are built only once, because the logs are large.
static FILES: [LazyLock<Files>; 3] = [
    LazyLock::new(|| built(Division::Closed)),
    LazyLock::new(|| built(Division::Open)),
    LazyLock::new(|| built(Division::Network)),
];

fn built(division: Division) -> Files {
    let fixture = Fixture::new(division, Round::V6_1);
    let built = build::build(&fixture.options).unwrap();
    let report = built.report.unwrap();
    assert_eq!((built.missing, report.findings), (vec![], vec![]));
    let mut files = Vec::new();
    let mut folders = vec![fixture.options.out.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                files.push((path.strip_prefix(&fixture.options.out).unwrap().to_owned(), bytes));
            }
        }
    }
    files
}

/// Returns a copy of a valid tree.
pub(super) fn tree(division: Division) -> TreeCopy {
    let at = Division::ALL.iter().position(|it| *it == division).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("tree");
    for (path, bytes) in FILES[at].iter() {
        let path = out.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    TreeCopy { folder, out }
}

/// Checks the tree after one change, and returns the report. The change is reverted afterwards.
pub(super) fn changed(fixture: &TreeCopy, file: &str, change: &Change) -> Report {
    let path = fixture.out.join(file);
    let around = path.ancestors().skip(1).find(|it| it.exists()).unwrap().canonicalize().unwrap();
    let kept = fixture.folder.path().join("kept");
    copy(&around, &kept);
    apply(change, &path);
    let report = check(&fixture.out, Round::V6_1).unwrap();
    fs::remove_dir_all(&around).unwrap();
    fs::rename(&kept, &around).unwrap();
    report
}
