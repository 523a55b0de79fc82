//! What to run: `run.yaml` and `profile.yaml` as the operator wrote them, or a BenchmarkRun file where there is no cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    path::{Path, PathBuf},
};

use crds::{
    benchmark_run::{BenchmarkRunSpec, GROUP, KIND, MAX_INLINE_PROFILE_BYTES, VERSION},
    resolve::{FieldError, ProfileSource, ResolvedRun, RunIdentity, Settings, resolve},
};
use serde::Deserialize;
use workload_profiles::{Notice, ProfileError, Workload};

use crate::user_file;

/// The largest input file that is read, in bytes: an inline profile, and as much again for the rest.
const MAX_FILE_BYTES: u64 = 2 * MAX_INLINE_PROFILE_BYTES as u64 + 1024 * 1024;

/// All that a run needs.
#[derive(Clone, Debug)]
pub struct Input {
    /// Who, where to, with which bounds.
    pub run: ResolvedRun,
    /// The profile as rendered.
    pub profile_text: String,
    /// The profile as parsed.
    pub workload: Workload,
    /// Keys of the profile that were ignored or changed.
    pub notices: Vec<Notice>,
}

/// What a command line adds to a BenchmarkRun file.
#[derive(Clone, Debug, Default)]
pub struct LocalOptions {
    /// A profile's file, in place of the one that the BenchmarkRun names.
    pub profile: Option<PathBuf>,
    /// `path=value` overrides, after those of the BenchmarkRun.
    pub overrides: Vec<String>,
    /// The bearer token of the target.
    pub token_file: Option<PathBuf>,
    /// Further certificate authorities.
    pub ca_file: Option<PathBuf>,
}

/// Why an input cannot be run. A cause stands in its message, and is therefore no `source`, which printing a chain of errors
/// would repeat.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// No file was given, and no operator has mounted one.
    #[error("give a BenchmarkRun with -f FILE; without it {folder} is read, which the operator mounts in a pod", folder = folder.display())]
    NotGiven {
        /// Where the operator mounts it.
        folder: PathBuf,
    },
    /// It cannot be read.
    #[error("cannot read {path}: {cause}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// It is empty.
    #[error("{path} is empty; write a BenchmarkRun into it, such as examples/benchmarkrun.yaml", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It is no YAML, or a field has the wrong type.
    #[error("{path}: {message}", path = path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        message: String,
    },
    /// It is another kind of object.
    #[error("{path} is a {found}; this command takes a {GROUP}/{VERSION} {KIND}", path = path.display())]
    WrongKind {
        /// The file.
        path: PathBuf,
        /// Its apiVersion and kind.
        found: String,
    },
    /// Fields that are unknown or wrong, all of them.
    #[error("{path} cannot be run:{}", list(.problems), path = path.display())]
    Fields {
        /// The file.
        path: PathBuf,
        /// One message each.
        problems: Vec<String>,
    },
    /// An override of the command line that is none.
    #[error("--override {found:?} is no path=value; write it as in load.stages.0.rate=5")]
    Override {
        /// What stood there.
        found: String,
    },
    /// The profile.
    #[error("profile {source_name}: {cause}")]
    Profile {
        /// Where it came from.
        source_name: String,
        /// What is wrong with it.
        cause: ProfileError,
    },
}

fn list(problems: &[String]) -> String {
    problems.iter().map(|it| format!("\n  {it}")).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
}

#[derive(Deserialize)]
struct BenchmarkRunFile {
    metadata: Metadata,
    spec: BenchmarkRunSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: Option<String>,
    generate_name: Option<String>,
}

impl Metadata {
    /// The name; what `generateName` begins with, where a cluster would add to it.
    fn name(&self) -> Option<String> {
        let generated = || self.generate_name.as_ref().map(|it| it.trim_end_matches('-').to_owned());
        self.name.clone().or_else(generated)
    }
}

/// Reads what the operator wrote into a folder.
///
/// # Errors
/// A file that is missing or that this release cannot read.
pub fn from_folder(folder: &Path) -> Result<Input, InputError> {
    let run_path = folder.join("run.yaml");
    if !run_path.exists() {
        return Err(InputError::NotGiven { folder: folder.to_owned() });
    }
    let run: ResolvedRun = serde_saphyr::from_str(&read(&run_path)?)
        .map_err(|error| InputError::Syntax { path: run_path, message: error.to_string() })?;
    let profile_text = read(&folder.join("profile.yaml"))?;
    let (workload, notices) = workload_profiles::parse(&run, &profile_text)
        .map_err(|cause| InputError::Profile { source_name: run.profile_source.clone(), cause })?;
    Ok(Input { run, profile_text, workload, notices })
}

/// Reads a BenchmarkRun file and does what the operator would: resolves, renders, parses.
///
/// # Errors
/// Everything that is wrong with the file's fields at once; or everything that is wrong with the profile.
pub fn from_file(path: &Path, options: &LocalOptions) -> Result<Input, InputError> {
    let text = read(path)?;
    let file = parse_file(path, &text)?;
    let no_name = || field(path, "metadata.name", "is missing; name the run");
    let identity = RunIdentity {
        name: file.metadata.name().ok_or_else(no_name)?,
        namespace: String::new(),
        uid: uuid::Uuid::new_v4().to_string(),
        attempt: 1,
    };
    let mut run = check_fields(path, identity, &file.spec, options)?;
    let source = ProfileSource::of(&file.spec);
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
            return Err(field(path, "spec.profile.configMapRef", "needs a cluster; outside one, give --profile FILE"));
        }
    };
    let overrides = overrides(&file.spec.profile.overrides, &options.overrides)?;
    let profile_error = |cause| InputError::Profile { source_name: run.profile_source.clone(), cause };
    let variables = workload_profiles::variables(&run, &file.spec.profile.variables).map_err(profile_error)?;
    let prepared = workload_profiles::prepare(&run, &template, &variables, &overrides).map_err(profile_error)?;
    Ok(Input { profile_text: prepared.text, workload: prepared.workload, notices: prepared.notices, run })
}

fn check_fields(
    path: &Path,
    identity: RunIdentity,
    spec: &BenchmarkRunSpec,
    options: &LocalOptions,
) -> Result<ResolvedRun, InputError> {
    let mut problems = Vec::new();
    for (given, named, path, flag) in [
        (&options.token_file, spec.target.auth.is_some(), "spec.target.auth", "--token-file"),
        (&options.ca_file, spec.target.tls.is_some(), "spec.target.tls", "--ca-file"),
    ] {
        if named && given.is_none() {
            problems.push(format!("{path}: names an object of a cluster; outside one, give {flag} FILE"));
        }
    }
    match resolve(identity, spec, &Settings::default()) {
        Ok(mut run) if problems.is_empty() => {
            run.token_file.clone_from(&options.token_file);
            run.ca_file.clone_from(&options.ca_file);
            Ok(run)
        }
        Ok(_) => Err(InputError::Fields { path: path.to_owned(), problems }),
        Err(errors) => {
            problems.extend(errors.iter().map(FieldError::to_string));
            Err(InputError::Fields { path: path.to_owned(), problems })
        }
    }
}

fn parse_file(path: &Path, text: &str) -> Result<BenchmarkRunFile, InputError> {
    if text.trim().is_empty() {
        return Err(InputError::Empty { path: path.to_owned() });
    }
    let syntax = |error: &dyn fmt::Display| InputError::Syntax { path: path.to_owned(), message: error.to_string() };
    if text.lines().skip(1).any(|it| it.trim_end() == "---")
        && text.lines().filter(|it| it.starts_with("kind:")).count() > 1
    {
        return Err(syntax(&"holds several documents; give each BenchmarkRun a file of its own"));
    }
    let value: serde_json::Value = serde_saphyr::from_str(text).map_err(|error| syntax(&error))?;
    if value.is_null() {
        return Err(InputError::Empty { path: path.to_owned() });
    }
    let wrong = |found: String| InputError::WrongKind { path: path.to_owned(), found };
    let header: Header =
        serde_json::from_value(value.clone()).map_err(|_| wrong("document without apiVersion and kind".into()))?;
    if header.api_version != format!("{GROUP}/{VERSION}") || header.kind != KIND {
        let found = match (header.api_version.as_str(), header.kind.as_str()) {
            ("", "") => "document without apiVersion and kind".to_owned(),
            (version, kind) => format!("{version} {kind}").trim().to_owned(),
        };
        return Err(wrong(found));
    }
    let mut unknown = BTreeSet::new();
    let mut track = serde_path_to_error::Track::new();
    let deserializer = serde_path_to_error::Deserializer::new(&value, &mut track);
    let file = serde_ignored::deserialize(deserializer, |field| {
        unknown.insert(field.to_string());
    });
    let file: BenchmarkRunFile = file.map_err(|error| field(path, &track.path().to_string(), &error.to_string()))?;
    let known_elsewhere =
        |field: &str| ["apiVersion", "kind", "status"].contains(&field) || field.starts_with("metadata.");
    let problems: Vec<String> = unknown
        .iter()
        .filter(|field| !known_elsewhere(field))
        .map(|field| format!("{field}: no such field in {KIND} {VERSION}; take it out, or see docs/benchmarkrun.md for its right name"))
        .collect();
    if problems.is_empty() { Ok(file) } else { Err(InputError::Fields { path: path.to_owned(), problems }) }
}

fn overrides(
    of_spec: &BTreeMap<String, String>,
    of_command: &[String],
) -> Result<BTreeMap<String, String>, InputError> {
    let mut all = of_spec.clone();
    for each in of_command {
        let (key, value) = each
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| InputError::Override { found: each.clone() })?;
        all.insert(key.to_owned(), value.to_owned());
    }
    Ok(all)
}

fn field(path: &Path, field: &str, message: &str) -> InputError {
    InputError::Fields { path: path.to_owned(), problems: vec![format!("{field}: {message}")] }
}

fn read(path: &Path) -> Result<String, InputError> {
    user_file::read_text(path, MAX_FILE_BYTES).map_err(|cause| InputError::Read { path: path.to_owned(), cause })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(text: &str) -> Result<Input, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.yaml");
        fs::write(&path, text).unwrap();
        from_file(&path, &LocalOptions::default()).map_err(|error| error.to_string())
    }

    const HEAD: &str = "apiVersion: benchwright.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: chat}\n";

    #[test]
    fn the_smallest_file_runs_sanity_random() {
        let input = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}}}")).unwrap();
        assert_eq!(input.run.profile_source, "sanity_random");
        assert_eq!(input.workload.stages.len(), 1);
    }

    #[test]
    fn an_empty_file_is_told_apart_from_a_wrong_one() {
        for text in ["", "  \n", "---\n", "# nothing\n"] {
            let error = check(text).unwrap_err();
            assert!(error.contains("is empty"), "{text:?}: {error}");
        }
        for text in ["apiVersion: v1\nkind: Pod\n", "hello\n", "- 1\n", "a: 1\n"] {
            let error = check(text).unwrap_err();
            assert!(error.contains("takes a benchwright.dev/v1alpha1 BenchmarkRun"), "{text:?}: {error}");
        }
        assert!(check("a: [1\n").unwrap_err().contains("line"));
    }

    #[test]
    fn every_unknown_field_is_named() {
        let error = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}, modle: x}}, shard: 3}}")).unwrap_err();
        assert!(error.contains("spec.shard:") && error.contains("spec.target.modle:"), "{error}");
    }

    #[test]
    fn a_wrong_type_names_its_path() {
        let error = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}, seed: many}}")).unwrap_err();
        assert!(error.contains("spec.seed"), "{error}");
    }

    #[test]
    fn an_unknown_harness_lists_the_known_ones() {
        let error = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}, harness: locust}}")).unwrap_err();
        assert!(error.contains("spec.harness") && error.contains("inference-perf"), "{error}");
    }

    #[test]
    fn a_profile_that_does_not_exist_lists_the_near_ones() {
        let error = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}, profile: {{name: sanity_randm}}}}"))
            .unwrap_err();
        assert!(error.contains("sanity_random"), "{error}");
    }

    #[test]
    fn what_needs_a_cluster_says_what_to_give_instead() {
        let target = "target: {url: 'http://h', auth: {secretKeyRef: {name: a, key: b}}, tls: {caConfigMapRef: {name: a, key: b}}}";
        let error = check(&format!("{HEAD}spec: {{{target}}}")).unwrap_err();
        assert!(error.contains("--token-file") && error.contains("--ca-file"), "{error}");
    }
}
