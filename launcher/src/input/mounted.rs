//! [I/O] Reads `run.yaml`, `spec.yaml` and `profile.yaml` from the operator.

use std::path::{Path, PathBuf};

use crds::{json::FieldError, resolve::ResolvedRun, wording::cut};
use serde_json::Value;

use super::{
    Input, InputError,
    user_files::{read, resolve_paths},
};

/// Reads the folder that the operator mounts.
///
/// # Errors
/// A file is missing, or this release cannot read it.
pub(crate) fn from_folder(folder: &Path) -> Result<Input, InputError> {
    let run_path = folder.join("run.yaml");
    if !run_path.exists() {
        return Err(InputError::NotGiven { folder: folder.to_owned() });
    }
    let run = document(run_path, ResolvedRun::from_json)?;
    let spec = document(folder.join("spec.yaml"), crds::json::read)?;
    let profile_text = read(&folder.join("profile.yaml"))?;
    let (mut workload, notices) = workload_profiles::parse(&run, &profile_text)
        .map_err(|cause| InputError::Profile { source_name: run.profile_source.clone(), cause })?;
    resolve_paths(&mut workload, folder);
    Ok(Input { run, spec, profile_text, workload, notices, paths_from: None })
}

/// Reads a file from the operator.
fn document<T>(path: PathBuf, from_json: fn(&str) -> Result<T, FieldError>) -> Result<T, InputError> {
    let text = read(&path)?;
    let value = serde_saphyr::from_str::<Value>(&text).map_err(|error| error.without_snippet().to_string());
    let read = value.and_then(|it| from_json(&it.to_string()).map_err(|error| error.to_string()));
    // An operator of another release wrote a file that this release cannot read.
    read.map_err(|cause| {
        let message =
            format!("cannot be read by this release: {}; use operator and launcher of the same release", cut(&cause));
        InputError::Syntax { path, message }
    })
}
