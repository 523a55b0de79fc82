//! [I/O] Lists and opens the files that a profiler of the engine wrote to its folder.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

/// Maximum number of files in a list. An engine writes one file per process.
const MAX_FILES: usize = 1_000;
/// Maximum number of folder entries that are read for a list.
const MAX_ENTRIES: usize = 10_000;
/// Maximum depth of folders. Some profilers create a folder per host and a folder per process.
const MAX_DEPTH: usize = 4;

/// A file of a trace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Trace {
    /// The path of the file within the folder, with `/` between its parts.
    pub name: String,
    /// The current size of the file.
    pub bytes: u64,
}

/// The regular files below a folder, sorted by name. Empty if the folder does not exist.
pub(super) fn list(folder: &Path) -> Vec<Trace> {
    let (mut found, mut left) = (Vec::new(), MAX_ENTRIES);
    add(folder, "", MAX_DEPTH, &mut left, &mut found);
    found.sort();
    found
}

/// `left` is the number of entries that can still be read.
fn add(folder: &Path, before: &str, depth: usize, left: &mut usize, found: &mut Vec<Trace>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        // Links are skipped, because they may lead outside the folder. The metadata of an entry describes the link, not its target.
        let (Ok(name), Ok(about)) = (entry.file_name().into_string(), entry.metadata()) else { continue };
        let name = format!("{before}{name}");
        if about.is_dir() && depth > 1 {
            add(&entry.path(), &format!("{name}/"), depth - 1, left, found);
        } else if about.is_file() && found.len() < MAX_FILES {
            found.push(Trace { name, bytes: about.len() });
        }
    }
}

/// Opens a file of the list, and returns it with its current size. Any other name gives the error `NotFound`.
pub(super) fn open(folder: &Path, name: &str) -> io::Result<(File, u64)> {
    let Some(trace) = list(folder).into_iter().find(|it| it.name == name) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(folder.join(&trace.name))?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok((file, about.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_many_entries_is_not_looked_at_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        for name in ["a/1", "a/2", "3", "4"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        let names = |mut left: usize| {
            let mut found = Vec::new();
            add(folder.path(), "", MAX_DEPTH, &mut left, &mut found);
            found.len()
        };
        assert_eq!((names(5), names(0)), (4, 0));
        // The folder itself counts as an entry, and can be read at any position.
        assert!((2..=3).contains(&names(3)));
    }
}
