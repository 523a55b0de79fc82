//! [I/O] The files that a profiler of an engine left in its folder.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

/// The maximum number of listed files: an engine writes one file per process.
const MAX_FILES: usize = 1_000;
/// The maximum number of folder entries that a listing reads.
const MAX_ENTRIES: usize = 10_000;
/// The maximum depth: some profilers create a folder per host, and one per process.
const MAX_DEPTH: usize = 4;

/// A file of a trace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Trace {
    /// The path of the file within the folder, with `/` between its parts.
    pub name: String,
    /// The current size of the file.
    pub bytes: u64,
}

/// The regular files below a folder, by name. A folder that does not exist has none.
pub(super) fn list(folder: &Path) -> Vec<Trace> {
    let (mut found, mut left) = (Vec::new(), MAX_ENTRIES);
    add(folder, "", MAX_DEPTH, &mut left, &mut found);
    found.sort();
    found
}

/// `left`: how many more entries may be read.
fn add(folder: &Path, before: &str, depth: usize, left: &mut usize, found: &mut Vec<Trace>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        // The target of a link may be outside of the folder. The metadata of an entry describe the link itself.
        let (Ok(name), Ok(about)) = (entry.file_name().into_string(), entry.metadata()) else { continue };
        let name = format!("{before}{name}");
        if about.is_dir() && depth > 1 {
            add(&entry.path(), &format!("{name}/"), depth - 1, left, found);
        } else if about.is_file() && found.len() < MAX_FILES {
            found.push(Trace { name, bytes: about.len() });
        }
    }
}

/// Opens a listed file and returns its current size. Any other name is not found.
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
        // The folder counts as an entry, in any order.
        assert!((2..=3).contains(&names(3)));
    }
}
