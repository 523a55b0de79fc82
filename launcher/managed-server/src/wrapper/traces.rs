//! [I/O] The files that a profiler of an engine left in its folder.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

/// The most files that are listed: an engine writes one for each of its processes.
const MAX_FILES: usize = 1_000;
/// The most entries of folders that are looked at for that.
const MAX_ENTRIES: usize = 10_000;
/// How deep files are looked for: some profilers make a folder for the host, and one for the process.
const MAX_DEPTH: usize = 4;

/// A file of a trace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Trace {
    /// Its path within the folder, with `/` between its parts.
    pub name: String,
    /// Its size now.
    pub bytes: u64,
}

/// The regular files below a folder, by name. A folder that does not exist has none.
pub(super) fn list(folder: &Path) -> Vec<Trace> {
    let (mut found, mut left) = (Vec::new(), MAX_ENTRIES);
    add(folder, "", MAX_DEPTH, &mut left, &mut found);
    found.sort();
    found
}

/// `left`: how many entries may still be looked at.
fn add(folder: &Path, before: &str, depth: usize, left: &mut usize, found: &mut Vec<Trace>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        // What a link leads to may lie elsewhere; the metadata of an entry are those of the link.
        let (Ok(name), Ok(about)) = (entry.file_name().into_string(), entry.metadata()) else { continue };
        let name = format!("{before}{name}");
        if about.is_dir() && depth > 1 {
            add(&entry.path(), &format!("{name}/"), depth - 1, left, found);
        } else if about.is_file() && found.len() < MAX_FILES {
            found.push(Trace { name, bytes: about.len() });
        }
    }
}

/// Opens a file of the list; its size is that of this moment. Whatever else is asked for does not exist.
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
        // The folder is an entry, too, at whatever place it comes.
        assert!((2..=3).contains(&names(3)));
    }
}
