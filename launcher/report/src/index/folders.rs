//! [I/O] Finds the results folders below a root.
//!
//! A run's folder is directly in the root, or one level deeper (`chat/a1`, or the runs in the folder of a series). Links are not followed.

use std::{
    fs::{self, DirEntry},
    io,
    path::Path,
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};

use crate::{REPORT_FILE_NAME, partial::SUFFIX};

/// Maximum number of folders that are read. A root with more folders is probably not a results root.
const MAX_FOLDERS: usize = 50_000;
pub(super) const REPEATS: &str = "repeats.json";
/// The files of a run for people, in the order in which they are preferred as the link target.
const PAGES: [&str; 2] = ["report.html", "report.md"];
const REPEATS_PAGES: [&str; 1] = ["repeats.md"];

/// The kind of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Kind {
    /// A run: the folder has a `report.json`.
    Run,
    /// A series of runs of the same load: the folder has a `repeats.json`.
    Repeats,
    /// A launcher is still writing the folder, or was killed.
    Unfinished,
}

/// Detects whether a file has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Stamp {
    pub(super) bytes: u64,
    /// Modification time in milliseconds since 1970; 0 if the file system does not report it.
    pub(super) modified_ms: u64,
}

/// A folder with a row in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The path of the folder below the root, with `/` between names.
    pub(super) folder: String,
    pub(super) kind: Kind,
    /// The stamp of the file that the row is read from.
    pub(super) stamp: Stamp,
    /// The file that the row links to; `None` if there is none.
    pub(super) page: Option<String>,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Folders {
    pub(super) found: Vec<Found>,
    /// Number of folders that are not results folders, or that have a name which is not UTF-8.
    pub(super) others: u64,
    /// Whether the limit on folders was reached, so that some might be missing.
    pub(super) more: bool,
}

impl Folders {
    /// Searches a root. Subfolders that cannot be read are not results folders.
    ///
    /// # Errors
    /// The root itself cannot be read.
    pub(super) fn below(root: &Path) -> io::Result<Folders> {
        let mut folders = Folders::default();
        let mut left = MAX_FOLDERS;
        for entry in subfolders(root, &mut left)? {
            folders.add(&entry, "", &mut left);
        }
        folders.more = left == 0;
        Ok(folders)
    }

    fn add(&mut self, entry: &DirEntry, above: &str, left: &mut usize) {
        let (path, name) = (entry.path(), entry.file_name());
        let Some(name) = name.to_str() else {
            self.others += 1;
            return;
        };
        let folder = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
        let page = |names: &[&str]| names.iter().find(|it| path.join(it).is_file()).map(|it| (*it).to_owned());
        let found = |kind, stamp, page| Found { folder: folder.clone(), kind, stamp, page };
        if name.ends_with(SUFFIX) {
            self.found.push(found(Kind::Unfinished, stamp(&path).unwrap_or_default(), None));
        } else if let Some(stamp) = stamp(&path.join(REPORT_FILE_NAME)) {
            self.found.push(found(Kind::Run, stamp, page(&PAGES)));
        } else {
            let repeats = stamp(&path.join(REPEATS));
            let before = self.found.len();
            if let Some(stamp) = repeats {
                self.found.push(found(Kind::Repeats, stamp, page(&REPEATS_PAGES)));
            }
            if above.is_empty() {
                let below = subfolders(&path, left).unwrap_or_default();
                let others = self.others;
                below.iter().for_each(|it| self.add(it, name, left));
                if self.found.len() == before {
                    // A folder without results counts as one other folder, however many folders it contains.
                    self.others = others + 1;
                }
            } else if repeats.is_none() {
                self.others += 1;
            }
        }
    }
}

fn subfolders(path: &Path, left: &mut usize) -> io::Result<Vec<DirEntry>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        if *left == 0 {
            break;
        }
        let Ok(entry) = entry else { continue };
        let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
        if is_folder && !entry.file_name().as_encoded_bytes().starts_with(b".") {
            *left -= 1;
            found.push(entry);
        }
    }
    Ok(found)
}

/// The stamp of a file; `None` if the file does not exist.
fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    let modified = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok());
    let modified_ms = modified.and_then(|it| u64::try_from(it.as_millis()).ok()).unwrap_or_default();
    Some(Stamp { bytes: metadata.len(), modified_ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_repeats_and_unfinished_folders_are_found_and_others_counted() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        };
        for path in [
            "one/report.json",
            "one/report.md",
            "two/report.json",
            "two/report.html",
            "chat/a1/report.json",
            "three/repeats.json",
            "three/1/report.json",
            "killed.partial/run.yaml",
            "photos/2026/cat.jpg",
            "photos/2025/dog.jpg",
            "deep/er/est/report.json",
            ".hidden/report.json",
            "index.md",
        ] {
            write(path);
        }
        std::os::unix::fs::symlink("one", root.path().join("latest")).unwrap();
        let mut folders = Folders::below(root.path()).unwrap();
        folders.found.sort_by(|one, other| one.folder.cmp(&other.folder));
        let found: Vec<(&str, Kind, Option<&str>)> =
            folders.found.iter().map(|it| (it.folder.as_str(), it.kind, it.page.as_deref())).collect();
        let expected = [
            ("chat/a1", Kind::Run, None),
            ("killed.partial", Kind::Unfinished, None),
            ("one", Kind::Run, Some("report.md")),
            ("three", Kind::Repeats, None),
            ("three/1", Kind::Run, None),
            ("two", Kind::Run, Some("report.html")),
        ];
        assert_eq!(found, expected);
        assert_eq!((folders.others, folders.more), (2, false));
        assert_eq!(folders.found[2].stamp.bytes, 2);
    }

    #[test]
    fn a_root_that_is_not_there_is_an_error() {
        assert!(Folders::below(Path::new("/nowhere/at/all")).is_err());
    }
}
