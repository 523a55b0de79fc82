//! [I/O] The launcher's input: the resolved run and the rendered profile.

use crds::{
    BenchmarkRun, Reason, ResolvedRun, Settings, any_value,
    benchmark_run::{KeyRef, is_object_name},
    hex,
    resolve::{FieldError, ProfileSource, effective, resolve},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use sha2::{Digest as _, Sha256};
use workload_profiles::ProfileError;

use super::baseline;
use crate::{
    error::Error,
    plan::{InputError, LauncherInput, meta},
};

/// Why there is no input.
enum Failure {
    /// The turn failed; the next one tries again.
    Turn(Error),
    /// The spec, the profile or a ConfigMap that it names is wrong.
    Input(InputError),
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        Failure::Turn(error.into())
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Self {
        input_error(Reason::ProfileInvalid, error.to_string())
    }
}

fn input_error(reason: Reason, message: String) -> Failure {
    Failure::Input(InputError { reason, message })
}

/// Where the input comes from beside the run itself: the objects of its namespace.
pub(super) struct Sources {
    /// Profiles and their files.
    pub(super) config_maps: Api<ConfigMap>,
    /// Earlier runs.
    pub(super) runs: Api<BenchmarkRun>,
}

/// Resolves the spec and renders the profile.
pub(super) async fn launcher_input(
    sources: &Sources,
    run: &BenchmarkRun,
    attempt: u32,
    settings: &Settings,
) -> Result<Result<LauncherInput, InputError>, Error> {
    match prepare(sources, run, attempt, settings).await {
        Ok(input) => Ok(Ok(input)),
        Err(Failure::Input(error)) => Ok(Err(error)),
        Err(Failure::Turn(error)) => Err(error),
    }
}

async fn prepare(
    Sources { config_maps, runs }: &Sources,
    run: &BenchmarkRun,
    attempt: u32,
    settings: &Settings,
) -> Result<LauncherInput, Failure> {
    let mut resolved = resolve(meta::identity(run, attempt), &run.spec, settings).map_err(|errors| {
        let lines: Vec<_> = errors.iter().map(FieldError::to_string).collect();
        input_error(Reason::InvalidSpec, lines.join("\n"))
    })?;
    if let Some(baseline) = resolved.slo.as_mut().and_then(|it| it.baseline.as_mut()) {
        let report = baseline::find(runs, run).await?;
        baseline.report = Some(report.map_err(|message| input_error(Reason::InvalidSpec, message))?);
    }
    let template = template(config_maps, run).await?;
    find_files(config_maps, run).await?;
    render(run, resolved, template).await
}

/// The text of the profile before it is rendered.
async fn template(config_maps: &Api<ConfigMap>, run: &BenchmarkRun) -> Result<String, Failure> {
    match ProfileSource::from_spec(&run.spec) {
        ProfileSource::Inline(text) => Ok(text),
        ProfileSource::Shipped(name) => {
            Ok(workload_profiles::shipped(effective::harness(&run.spec), &name)?.to_owned())
        }
        ProfileSource::ConfigMap(key) => match value_of(config_maps, "spec.profile.configMapRef", &key).await? {
            Ok(Value::Text(text)) => Ok(text),
            Ok(Value::Binary) => {
                let message = format!(
                    "spec.profile.configMapRef.key: {:?} of ConfigMap {:?} is binary; put the profile's text under data",
                    key.key, key.name
                );
                Err(input_error(Reason::ProfileInvalid, message))
            }
            Err(message) => Err(input_error(Reason::ProfileNotFound, message)),
        },
    }
}

/// Checks that the ConfigMaps of the profile's files exist and have their keys.
async fn find_files(config_maps: &Api<ConfigMap>, run: &BenchmarkRun) -> Result<(), Failure> {
    let mut missing = Vec::new();
    for (index, file) in run.spec.profile.files.iter().enumerate() {
        let Some(key) = &file.config_map_ref else { continue };
        let field = format!("spec.profile.files[{index}].configMapRef");
        missing.extend(value_of(config_maps, &field, key).await?.err());
    }
    if missing.is_empty() { Ok(()) } else { Err(input_error(Reason::ProfileNotFound, missing.join("\n"))) }
}

async fn render(run: &BenchmarkRun, resolved: ResolvedRun, template: String) -> Result<LauncherInput, Failure> {
    let profile = run.spec.profile.clone();
    // Rendering has a time limit, but one that is too long for a thread of the async runtime.
    let rendering = tokio::task::spawn_blocking(move || {
        let variables = workload_profiles::variables(&resolved, &profile.variables)?;
        let overrides = any_value::texts(&profile.overrides);
        let prepared = workload_profiles::prepare(&resolved, &template, &variables, &overrides)?;
        Ok::<_, ProfileError>((resolved, prepared))
    });
    let (run, prepared) = rendering.await.map_err(|error| Failure::Turn(Error::Render(error)))??;
    let profile_sha256 = hex(&Sha256::digest(prepared.text.as_bytes()));
    Ok(LauncherInput { run, profile: prepared.text, profile_sha256 })
}

/// A value in a ConfigMap.
enum Value {
    Text(String),
    Binary,
}

/// The value under a key of a ConfigMap, or a message that says what is missing.
async fn value_of(
    config_maps: &Api<ConfigMap>,
    field: &str,
    key: &KeyRef,
) -> Result<Result<Value, String>, kube::Error> {
    let name = &key.name;
    if !is_object_name(name) {
        // The name becomes part of a URL.
        return Ok(Err(format!("{field}.name: {name:?} is no name of a ConfigMap; use a-z, 0-9, - and .")));
    }
    let Some(found) = config_maps.get_opt(name).await? else {
        return Ok(Err(format!("{field}.name: there is no ConfigMap {name:?} in this namespace; create it")));
    };
    let (mut texts, binaries) = (found.data.unwrap_or_default(), found.binary_data.unwrap_or_default());
    if let Some(text) = texts.remove(&key.key) {
        return Ok(Ok(Value::Text(text)));
    }
    if binaries.contains_key(&key.key) {
        return Ok(Ok(Value::Binary));
    }
    let known = texts.into_keys().chain(binaries.into_keys()).collect::<Vec<_>>().join(", ");
    Ok(Err(format!("{field}.key: ConfigMap {name:?} has no key {:?}; it has {known}", key.key)))
}
