//! [I/O] Reads `run.yaml`, `spec.yaml` and `profile.yaml` as the operator wrote them.

use std::path::{Path, PathBuf};

use crds::{resolve::ResolvedRun, wording::cut};

use super::{Input, InputError, read, resolve_paths};

/// Reads the folder that the operator mounts.
///
/// # Errors
/// A file is missing, or this release cannot read it.
pub(crate) fn from_folder(folder: &Path) -> Result<Input, InputError> {
    let run_path = folder.join("run.yaml");
    if !run_path.exists() {
        return Err(InputError::NotGiven { folder: folder.to_owned() });
    }
    let run: ResolvedRun = serde_saphyr::from_str(&read(&run_path)?).map_err(|error| unreadable(run_path, &error))?;
    let spec_path = folder.join("spec.yaml");
    let spec = serde_saphyr::from_str(&read(&spec_path)?).map_err(|error| unreadable(spec_path, &error))?;
    let profile_text = read(&folder.join("profile.yaml"))?;
    let (mut workload, notices) = workload_profiles::parse(&run, &profile_text)
        .map_err(|cause| InputError::Profile { source_name: run.profile_source.clone(), cause })?;
    resolve_paths(&mut workload, folder);
    Ok(Input { run, spec, profile_text, workload, notices, paths_from: None })
}

/// The error for a file that an operator of another release wrote.
fn unreadable(path: PathBuf, error: &serde_saphyr::Error) -> InputError {
    let cause = error.without_snippet().to_string();
    let message =
        format!("cannot be read by this release: {}; use operator and launcher of the same release", cut(&cause));
    InputError::Syntax { path, message }
}
