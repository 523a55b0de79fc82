//! [I/O] Reads the files of a profile like a run, if they are on this machine.

use std::path::{Path, PathBuf};

use crds::units::Seed;
use workload_files::{FilesError, WorkloadFiles};
use workload_profiles::{Workload, workload::FileSource};

use super::user_files::resolve_paths;

/// The result of reading the files of a profile.
pub enum FilesHere {
    /// All files were read, or there are none.
    Read,
    /// Some files are not on this machine, or must be downloaded. No file was read.
    NotHere(Vec<String>),
    /// A file cannot be used.
    Wrong(FilesError),
}

/// Reads the files. Relative paths are relative to `folder`.
pub fn read(workload: &Workload, folder: &Path, seed: Seed) -> FilesHere {
    let mut workload = workload.clone();
    resolve_paths(&mut workload, folder);
    let downloads: Vec<String> = workload
        .sources_mut()
        .into_iter()
        .filter_map(|(_, it)| match it {
            FileSource::Url(url) => Some(url.shown()),
            FileSource::Path(_) => None,
        })
        .collect();
    let missing = |it: &&mut PathBuf| !it.exists();
    let missing = workload.files_mut().filter(missing).map(|it| it.display().to_string());
    let not_here: Vec<String> = downloads.into_iter().chain(missing).collect();
    if !not_here.is_empty() {
        return FilesHere::NotHere(not_here);
    }
    match WorkloadFiles::read(&workload, seed) {
        Ok(_) => FilesHere::Read,
        Err(error) => FilesHere::Wrong(error),
    }
}
