//! [I/O] The trace files in a results folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use analysis::{Profiling, TraceFile};
use tracing::warn;

/// The folder for traces in a results folder.
pub(super) const FOLDER: &str = "profiling";
/// Maximum number of files that are listed. An engine writes one file per process.
const MAX_FILES: usize = 1_000;
/// Maximum depth of folders. rocprofv3 creates one folder per host, and in it one folder per process. With several pods, each pod has a parent
/// folder.
const MAX_DEPTH: usize = 5;

/// Lists the files in the folder, or adds a remark that they are on the server.
pub(super) fn add(mut profiling: Profiling, folder: Option<&Path>) -> Profiling {
    let recorded = profiling.window.is_some();
    let Some(folder) = folder else {
        if recorded {
            let kept = "the trace is where the server was told to write it, and was not collected: Benchwright collects traces only of a server \
                        that it starts for this run alone and with its wrapper";
            profiling.remarks.push(kept.to_owned());
        }
        return profiling;
    };
    let mut found = Vec::new();
    if let Err(error) = list(folder, Path::new(FOLDER), MAX_DEPTH, &mut found)
        && error.kind() != io::ErrorKind::NotFound
    {
        warn!(folder = %folder.display(), %error, "some files of the trace are not listed");
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    if found.len() > MAX_FILES {
        profiling.remarks.push(format!("{} more files are in {FOLDER}", found.len() - MAX_FILES));
        found.truncate(MAX_FILES);
    }
    if found.is_empty() {
        // This fails if the folder does not exist or is not empty, which is intended.
        let _ = fs::remove_dir(folder);
        if recorded {
            profiling.remarks.push(format!("the server left no file in {FOLDER} of the results folder"));
        }
    }
    profiling.files = found;
    profiling
}

fn list(folder: &Path, name: &Path, depth: usize, found: &mut Vec<TraceFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name: PathBuf = name.join(entry.file_name());
        let about = entry.metadata()?;
        if about.is_file() {
            found.push(TraceFile { name: name.to_string_lossy().into_owned(), bytes: about.len() });
        } else if about.is_dir() && depth > 1 {
            list(&entry.path(), &name, depth - 1, found)?;
        }
    }
    Ok(())
}
