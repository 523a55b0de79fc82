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
    let mut found = Vec::new();
    add(folder, "", MAX_DEPTH, &mut found);
    found.sort();
    found
}

fn add(folder: &Path, before: &str, depth: usize, found: &mut Vec<Trace>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // What a link leads to may lie elsewhere; the metadata of an entry are those of the link.
        let (Ok(name), Ok(about)) = (entry.file_name().into_string(), entry.metadata()) else { continue };
        let name = format!("{before}{name}");
        if about.is_dir() && depth > 1 {
            add(&entry.path(), &format!("{name}/"), depth - 1, found);
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
