//! Files that the user provides.

use std::path::Path;

use crds::benchmark_run::MAX_INLINE_PROFILE_BYTES;
use files::user_file;
use workload_profiles::Workload;

use super::error::InputError;

/// Maximum size of an input file, in bytes: twice the maximum size of an inline profile, plus 1 MiB for the rest.
pub(super) const MAX_FILE_BYTES: u64 = 2 * MAX_INLINE_PROFILE_BYTES as u64 + 1024 * 1024;

/// Makes the relative paths of a workload absolute. They are relative to the folder of the file that names them.
pub(super) fn resolve_paths(workload: &mut Workload, folder: &Path) {
    for path in workload.files_mut() {
        // If the process has no working folder, the path remains relative, and reading it fails later.
        if let Ok(absolute) = std::path::absolute(folder.join(&*path)) {
            *path = absolute;
        }
    }
}

pub(super) fn read(path: &Path) -> Result<String, InputError> {
    user_file::read_text(path, MAX_FILE_BYTES).map_err(|cause| InputError::Read { path: path.to_owned(), cause })
}
