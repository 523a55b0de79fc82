//! [I/O] Reads a BenchmarkRun file where there is no cluster, and does what the operator would do with it.

use std::{collections::BTreeMap, path::Path};

use crds::{AnyValue, any_value, resolve::ProfileSource};
use workload_profiles::Notice;

use super::{Input, InputError, LocalOptions, read, resolve_paths, run_file::RunFile, unused_fields};

/// Reads a BenchmarkRun file, resolves its spec, and renders and parses its profile.
///
/// # Errors
/// One error lists all wrong fields of the file, or all wrong fields of the profile.
pub fn from_file(path: &Path, options: &LocalOptions) -> Result<Input, InputError> {
    let text = read(path)?;
    let file = RunFile::parse(path, &text)?;
    let dropped: Vec<Notice> =
        file.dropped.iter().map(|it| Notice { path: it.path.clone(), message: it.message.clone() }).collect();
    let paths_from = file.paths_from();
    let (mut run, spec) = file.resolve(path, options)?;
    let source = ProfileSource::from_spec(&spec);
    let template = match (&options.profile, &source) {
        (Some(profile), _) => {
            run.profile_source = profile.display().to_string();
            read(profile)?
        }
        (None, ProfileSource::Inline(text)) => text.clone(),
        (None, ProfileSource::Shipped(name)) => workload_profiles::shipped(run.harness, name)
            .map_err(|cause| InputError::Profile { source_name: name.clone(), cause })?
            .to_owned(),
        (None, ProfileSource::ConfigMap(_)) => {
            return Err(InputError::field(
                path,
                "spec.profile.configMapRef",
                "names an object of a cluster; outside a cluster give --profile FILE",
            ));
        }
    };
    let overrides = overrides(&spec.profile.overrides, &options.overrides)?;
    let profile_error = |cause| InputError::Profile { source_name: run.profile_source.clone(), cause };
    let variables = workload_profiles::variables(&run, &spec.profile.variables).map_err(profile_error)?;
    let prepared = workload_profiles::prepare(&run, &template, &variables, &overrides).map_err(profile_error)?;
    let of_spec = dropped.into_iter().chain(unused_fields::notices(&spec, options));
    let notices = of_spec.chain(prepared.notices).collect();
    let mut workload = prepared.workload;
    // A pipe has no folder: paths are relative to the working folder then.
    let names = options.profile.as_deref().unwrap_or(path);
    let folder = names.parent().filter(|_| names.is_file()).unwrap_or(Path::new(""));
    // The profile.yaml beside the benchmarkrun.yaml of a results folder has the same relative paths.
    let same_folder = options.profile.as_deref().is_none_or(|it| are_beside(it, path));
    let folder = paths_from.filter(|_| same_folder).unwrap_or_else(|| folder.to_owned());
    let has_relative_paths = workload.files_mut().any(|it| it.is_relative());
    resolve_paths(&mut workload, &folder);
    let paths_from = std::path::absolute(folder.join(".")).ok().filter(|_| has_relative_paths);
    Ok(Input { profile_text: prepared.text, workload, notices, run, spec, paths_from })
}

/// Whether two files lie in the same folder.
fn are_beside(one: &Path, other: &Path) -> bool {
    let folder = |path: &Path| std::fs::canonicalize(path).ok()?.parent().map(Path::to_owned);
    folder(one).is_some_and(|it| folder(other) == Some(it))
}

fn overrides(
    of_spec: &BTreeMap<String, AnyValue>,
    of_command: &[String],
) -> Result<BTreeMap<String, String>, InputError> {
    let mut all = any_value::texts(of_spec);
    for each in of_command {
        let (key, value) = each
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| InputError::Override { found: each.clone() })?;
        all.insert(key.to_owned(), value.to_owned());
    }
    Ok(all)
}
