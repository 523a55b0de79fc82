//! [I/O] Reads a run without a cluster, and prepares it like the operator.

use std::path::Path;

use crds::{
    benchmark_run::{GROUP, Harness, KIND, MAX_NAME_BYTES, VERSION},
    resolve::ProfileSource,
};
use serde_json::json;
use workload_profiles::Notice;

use super::{
    Input, InputError, LocalOptions, RunSource, overrides,
    profile_file::ProfileFile,
    run_file::RunFile,
    unused_fields,
    user_files::{read, resolve_paths},
};

/// The source of a run without a file, as messages name it.
const COMMAND_LINE: &str = "the command line";
/// The name of a run whose profile has no usable name.
const RUN_NAME: &str = "run";

/// Reads the run that a command line requests.
///
/// # Errors
/// The errors of [`from_file`], or there is no target.
pub fn from_source(source: &RunSource, options: &LocalOptions) -> Result<Input, InputError> {
    let (target, model) = match source {
        RunSource::File(path) => return from_file(path, options),
        RunSource::Document(text) => {
            let path = Path::new(COMMAND_LINE);
            return from_run_file(path, RunFile::parse(path, text)?, options);
        }
        RunSource::Url { url, .. } if !url.contains(":/") => return Err(InputError::Url { found: url.clone() }),
        RunSource::Url { url, model } => (json!({"url": url}), model),
        RunSource::Simulator { preset, model } => (json!({"simulator": {"preset": preset}}), model),
        // The command line of another tool may name its target.
        RunSource::NoTarget { model } => match url_of_profile(options)? {
            Some(url) => (json!({"url": url}), model),
            None => return Err(InputError::NoTarget),
        },
    };
    let mut target = target;
    if let Some(model) = model {
        target["model"] = json!(model);
    }
    let name = options.profile.as_deref().map_or(RUN_NAME.to_owned(), run_name);
    let document = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {"target": target},
    });
    let path = Path::new(COMMAND_LINE);
    let mut file = RunFile::parse(path, &document.to_string())?;
    for (field, flag) in [("spec.target.url", "--url"), ("spec.target.model", "--model")] {
        file.set_by_flag(field.to_owned(), flag);
    }
    from_run_file(path, file, options)
}

/// Returns the URL of the server that the profile names, such as the `--base-url` of a command line.
fn url_of_profile(options: &LocalOptions) -> Result<Option<String>, InputError> {
    let Some(name) = &options.profile else { return Ok(None) };
    let Some(profile) = ProfileFile::find(name, options.harness)? else { return Ok(None) };
    let harness = options.harness.or(profile.harness);
    Ok(harness.and_then(|it| workload_profiles::named_url(it, &profile.text)))
}

/// Reads a BenchmarkRun file, resolves its spec, and renders and parses its profile.
///
/// # Errors
/// One error contains all wrong fields of the file, or all wrong fields of the profile.
pub fn from_file(path: &Path, options: &LocalOptions) -> Result<Input, InputError> {
    from_run_file(path, RunFile::parse(path, &read(path)?)?, options)
}

fn from_run_file(path: &Path, mut file: RunFile, options: &LocalOptions) -> Result<Input, InputError> {
    let dropped: Vec<Notice> =
        file.dropped.iter().map(|it| Notice { path: it.path.clone(), message: it.message.clone() }).collect();
    let paths_from = file.paths_from();
    let given = options.profile.as_deref().map(|it| ProfileFile::find(it, options.harness)).transpose()?.flatten();
    let names_harness = file.names_harness();
    if let Some(harness) = options.harness.or_else(|| given.as_ref().and_then(|it| it.harness)) {
        file.set_harness(harness, options.harness.is_some());
    }
    let shipped = options.profile.clone().filter(|_| given.is_none());
    if let (Some(name), None, false) = (&shipped, options.harness, names_harness)
        && let Some(harness) = only_harness(name)?
    {
        file.set_harness(harness, true);
    }
    if let Some(name) = &shipped {
        file.set_profile(name);
    }
    file.set_metrics(&options.metrics_urls, options.no_server_metrics);
    if let Some(seed) = options.seed {
        file.set_seed(seed);
    }
    if let Some(repeat) = options.repeat {
        file.set_repeat(repeat);
    }
    if let Some(search) = &options.search {
        file.set_search(search);
    }
    let (mut run, mut spec) = file.resolve(path, options)?;
    let source = ProfileSource::from_spec(&spec);
    let template = match (&given, &source) {
        (Some(profile), _) => {
            if profile.harness.is_none() && options.harness.is_none() && !names_harness {
                let reason = workload_profiles::unrecognised(&profile.text);
                return Err(InputError::UnknownHarness { path: profile.path.clone(), reason });
            }
            run.profile_source = profile.path.display().to_string();
            profile.text.clone()
        }
        (None, ProfileSource::Inline(text)) => text.clone(),
        (None, ProfileSource::Shipped(name)) => workload_profiles::shipped(run.harness, name)
            .map_err(|mut cause| {
                if let (Some(_), Some(problem)) = (&shipped, cause.problems.first_mut()) {
                    problem.message.push_str("; there is no file of this name either");
                }
                InputError::Profile { source_name: name.clone(), cause }
            })?
            .to_owned(),
        (None, ProfileSource::ConfigMap(_)) => {
            return Err(InputError::field(
                path,
                "spec.profile.configMapRef",
                "names an object of a cluster; outside a cluster give --profile FILE",
            ));
        }
    };
    let all_overrides = overrides::with(&spec.profile.overrides, &options.overrides)?;
    overrides::set_variables(&mut spec.profile.variables, &options.variables)?;
    let profile_error = |cause| InputError::Profile { source_name: run.profile_source.clone(), cause };
    let variables = workload_profiles::variables(&run, &spec.profile.variables).map_err(profile_error)?;
    let prepared = workload_profiles::prepare(&run, &template, &variables, &all_overrides)
        .map_err(|cause| file.error_of_spec(path, &cause).unwrap_or_else(|| profile_error(cause)))?;
    if options.strict && !prepared.notices.is_empty() {
        let notices = prepared.notices.iter().map(ToString::to_string).collect();
        return Err(InputError::Strict { source_name: run.profile_source.clone(), notices });
    }
    let of_spec = dropped.into_iter().chain(unused_fields::notices(&spec, options));
    let notices = of_spec.chain(prepared.notices).collect();
    let mut workload = prepared.workload;
    // A pipe has no folder. Paths are then relative to the working folder.
    let names = given.as_ref().map_or(path, |it| it.path.as_path());
    let folder = names.parent().filter(|_| names.is_file()).unwrap_or(Path::new(""));
    // In a results folder, `profile.yaml` and `benchmarkrun.yaml` have the same base for their relative paths.
    let same_folder = given.as_ref().is_none_or(|it| are_beside(&it.path, path));
    let folder = paths_from.filter(|_| same_folder).unwrap_or_else(|| folder.to_owned());
    let has_relative_paths = workload.files_mut().any(|it| it.is_relative());
    resolve_paths(&mut workload, &folder);
    let paths_from = std::path::absolute(folder.join(".")).ok().filter(|_| has_relative_paths);
    Ok(Input { profile_text: prepared.text, workload, notices, run, spec, paths_from })
}

/// Returns the only harness that has a shipped profile with this name. `None` if the default harness has such a profile, which then takes precedence,
/// or if no harness has one.
///
/// # Errors
/// Several harnesses have a profile with this name.
fn only_harness(name: &str) -> Result<Option<Harness>, InputError> {
    let ships = |it: &Harness| workload_profiles::shipped(*it, name).is_ok();
    // The default harness takes precedence.
    if ships(&Harness::InferencePerf) {
        return Ok(None);
    }
    let found: Vec<Harness> = Harness::ALL.into_iter().filter(ships).collect();
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => {
            let harnesses = several.iter().map(|it| it.name()).collect();
            Err(InputError::SeveralHarnesses { name: name.to_owned(), harnesses })
        }
    }
}

/// Returns a name for a run with this profile: the file name, reduced to letters, digits and dashes.
fn run_name(profile: &str) -> String {
    let file = profile.rsplit('/').next().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let plain: String = stem.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).collect();
    let name: String = plain.trim_matches('-').chars().take(MAX_NAME_BYTES).collect();
    let name = name.trim_end_matches('-');
    if name.starts_with(|it: char| it.is_ascii_lowercase()) { name.to_owned() } else { RUN_NAME.to_owned() }
}

/// Whether two files are in the same folder.
fn are_beside(one: &Path, other: &Path) -> bool {
    let folder = |path: &Path| std::fs::canonicalize(path).ok()?.parent().map(Path::to_owned);
    folder(one).is_some_and(|it| folder(other) == Some(it))
}
