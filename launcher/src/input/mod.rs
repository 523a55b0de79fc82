//! What to run: `run.yaml` and `profile.yaml` as the operator wrote them, or a BenchmarkRun file where there is no cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

use crds::{
    AnyValue, any_value,
    benchmark_run::{BenchmarkRunSpec, GROUP, KIND, MAX_INLINE_PROFILE_BYTES, MAX_NAME_BYTES, PATHS_FROM, VERSION},
    resolve::{ProfileSource, ResolvedRun, RunIdentity, Settings, resolve},
    schema,
    wording::{cut, named, quoted},
    yaml::{self, Document, Node, Problem},
};
use serde_json::Value;
use workload_profiles::{Notice, ProfileError, Workload};

use crate::overlooked;
use engine::user_file;
use report::Inputs;

/// The largest input file that is read, in bytes: an inline profile, and as much again for the rest.
const MAX_FILE_BYTES: u64 = 2 * MAX_INLINE_PROFILE_BYTES as u64 + 1024 * 1024;

/// How long a target is waited for outside a cluster, where the file does not say: whoever waits there sits before it.
const LOCAL_READINESS_SECONDS: u32 = 60;

/// How many problems one error lists: a file with more has one mistake over and over.
const MAX_LISTED: usize = 48;

/// All that a run needs.
#[derive(Clone, Debug)]
pub struct Input {
    /// Who, where to, with which bounds.
    pub run: ResolvedRun,
    /// The spec as the user wrote it.
    pub spec: BenchmarkRunSpec,
    /// The profile as rendered.
    pub profile_text: String,
    /// The profile as parsed.
    pub workload: Workload,
    /// Keys of the profile that were ignored or changed.
    pub notices: Vec<Notice>,
    /// The folder from which relative paths in the profile count, where the profile has such paths and this is no pod.
    pub paths_from: Option<PathBuf>,
}

impl Input {
    /// What the results folder keeps of it.
    pub fn inputs(&self) -> Inputs<'_> {
        Inputs {
            run: &self.run,
            spec: &self.spec,
            profile_text: &self.profile_text,
            paths_from: self.paths_from.as_deref(),
        }
    }
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
    /// It is no YAML.
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
    /// It is the `run.yaml` of a results folder.
    #[error(
        "{path} is the run.yaml of a results folder, which tells how a run was resolved; give the benchmarkrun.yaml beside it, \
         which runs it again",
        path = path.display()
    )]
    ResolvedRun {
        /// The file.
        path: PathBuf,
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
    #[error("--override {} is no path=value; write it as in load.stages.0.rate=5", quoted(.found))]
    Override {
        /// What stood there.
        found: String,
    },
    /// The profile.
    #[error("profile {}: {cause}", named(.source_name))]
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

/// Reads what the operator wrote into a folder.
///
/// # Errors
/// A file that is missing or that this release cannot read.
pub fn from_folder(folder: &Path) -> Result<Input, InputError> {
    let run_path = folder.join("run.yaml");
    if !run_path.exists() {
        return Err(InputError::NotGiven { folder: folder.to_owned() });
    }
    let run = serde_saphyr::from_str(&read(&run_path)?).map_err(|error| unreadable(run_path, &error));
    let mut run: ResolvedRun = run?;
    if run.prompt_salt.is_empty() {
        run.prompt_salt = run.run.prompt_salt();
    }
    let spec_path = folder.join("spec.yaml");
    let spec = serde_saphyr::from_str(&read(&spec_path)?).map_err(|error| unreadable(spec_path, &error))?;
    let profile_text = read(&folder.join("profile.yaml"))?;
    let (mut workload, notices) = workload_profiles::parse(&run, &profile_text)
        .map_err(|cause| InputError::Profile { source_name: run.profile_source.clone(), cause })?;
    resolve_paths(&mut workload, folder);
    Ok(Input { run, spec, profile_text, workload, notices, paths_from: None })
}

/// That a file of the operator is of another release.
fn unreadable(path: PathBuf, error: &serde_saphyr::Error) -> InputError {
    let cause = error.without_snippet().to_string();
    let message = format!("is no run of this release: {}; let the operator of the same release write it", cut(&cause));
    InputError::Syntax { path, message }
}

/// Reads a BenchmarkRun file and does what the operator would: resolves, renders, parses.
///
/// # Errors
/// Everything that is wrong with the file's fields at once; or everything that is wrong with the profile.
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
            return Err(field(path, "spec.profile.configMapRef", "needs a cluster; outside one, give --profile FILE"));
        }
    };
    let overrides = overrides(&spec.profile.overrides, &options.overrides)?;
    let profile_error = |cause| InputError::Profile { source_name: run.profile_source.clone(), cause };
    let variables = workload_profiles::variables(&run, &spec.profile.variables).map_err(profile_error)?;
    let prepared = workload_profiles::prepare(&run, &template, &variables, &overrides).map_err(profile_error)?;
    let of_spec = dropped.into_iter().chain(overlooked::notices(&spec, options));
    let notices = of_spec.chain(prepared.notices).collect();
    let mut workload = prepared.workload;
    // What a pipe brings has no folder of its own.
    let names = options.profile.as_deref().unwrap_or(path);
    let folder = names.parent().filter(|_| names.is_file()).unwrap_or(Path::new(""));
    let folder = paths_from.filter(|_| options.profile.is_none()).unwrap_or_else(|| folder.to_owned());
    let has_relative_paths = workload.files_mut().any(|it| it.is_relative());
    resolve_paths(&mut workload, &folder);
    let paths_from = std::path::absolute(folder.join(".")).ok().filter(|_| has_relative_paths);
    Ok(Input { profile_text: prepared.text, workload, notices, run, spec, paths_from })
}

/// Makes the relative paths of a workload those from the folder of the file that names them.
fn resolve_paths(workload: &mut Workload, folder: &Path) {
    for path in workload.files_mut() {
        // Without a working folder it stays as it is, and cannot be read.
        if let Ok(absolute) = std::path::absolute(folder.join(&*path)) {
            *path = absolute;
        }
    }
}

/// A BenchmarkRun's file that was read.
struct RunFile {
    root: Node,
    /// What is right of it.
    value: Value,
    problems: Vec<Problem>,
    /// Empty entries.
    dropped: Vec<Problem>,
}

impl RunFile {
    /// Reads the values and holds them against the schema; the problems with them are for [`RunFile::resolve`] to tell.
    fn parse(path: &Path, text: &str) -> Result<RunFile, InputError> {
        let syntax = |problem: Problem| InputError::Syntax { path: path.to_owned(), message: problem.to_string() };
        let document = yaml::read(text).map_err(syntax)?;
        let Document { root, mut problems, ambiguous_keys } =
            document.ok_or_else(|| InputError::Empty { path: path.to_owned() })?;
        let header = |key: &str| root.get(key).map(|it| it.value.described());
        if root.get("apiVersion").and_then(|it| it.value.text()) != Some(&format!("{GROUP}/{VERSION}"))
            || root.get("kind").and_then(|it| it.value.text()) != Some(KIND)
        {
            if ["endpoint", "profileSource", "readinessTimeout"].iter().all(|it| root.get(it).is_some()) {
                return Err(InputError::ResolvedRun { path: path.to_owned() });
            }
            let found = match (header("apiVersion"), header("kind")) {
                (None, None) => "document without apiVersion and kind".to_owned(),
                (None, Some(kind)) => format!("document of kind {kind} without apiVersion"),
                (Some(version), None) => format!("document of apiVersion {version} without kind"),
                (Some(version), Some(kind)) => format!("document of apiVersion {version} and kind {kind}"),
            };
            return Err(InputError::WrongKind { path: path.to_owned(), found });
        }
        let checked = schema::check(&root);
        // Of two problems with a field the first one is told.
        problems.extend(checked.problems);
        problems.extend(ambiguous_keys);
        Ok(RunFile { root, value: checked.value, problems, dropped: checked.dropped })
    }

    /// Does what the operator would with the spec.
    fn resolve(mut self, path: &Path, options: &LocalOptions) -> Result<(ResolvedRun, BenchmarkRunSpec), InputError> {
        let spec = serde_path_to_error::deserialize::<_, BenchmarkRunSpec>(&self.value["spec"]);
        let spec = match spec {
            Ok(spec) => spec,
            Err(error) if self.problems.is_empty() => {
                return Err(field(path, &format!("spec.{}", error.path()), &error.inner().to_string()));
            }
            Err(_) => return Err(self.into_error(path)),
        };
        let identity = RunIdentity {
            name: self.name().unwrap_or_default(),
            namespace: String::new(),
            uid: uuid::Uuid::new_v4().to_string(),
            attempt: 1,
        };
        if identity.name.is_empty() {
            let message = format!(
                "is missing; name the run, with at most {MAX_NAME_BYTES} letters a-z, digits and dashes, such as chat"
            );
            self.add("metadata.name", message);
        }
        for (given, named, path, flag) in [
            (&options.token_file, spec.target.auth.is_some(), "spec.target.auth", "--token-file"),
            (&options.ca_file, spec.target.tls.is_some(), "spec.target.tls", "--ca-file"),
        ] {
            if named && given.is_none() {
                self.add(path, format!("names an object of a cluster; outside one, give {flag} FILE"));
            }
        }
        let mut used = spec.clone();
        used.profile.files.clear();
        let settings = Settings { readiness_timeout_seconds: LOCAL_READINESS_SECONDS, ..Settings::default() };
        match resolve(identity, &used, &settings) {
            Ok(mut run) if self.problems.is_empty() => {
                run.token_file.clone_from(&options.token_file);
                run.ca_file.clone_from(&options.ca_file);
                return Ok((run, spec));
            }
            Ok(_) => {}
            Err(errors) => errors.into_iter().for_each(|it| self.add(&it.path, it.message)),
        }
        Err(self.into_error(path))
    }

    /// The folder from which relative paths in the profile count, where the file does not lie beside them: a results folder's
    /// `benchmarkrun.yaml` does not.
    fn paths_from(&self) -> Option<PathBuf> {
        self.value["metadata"]["annotations"][PATHS_FROM].as_str().map(PathBuf::from)
    }

    /// The name; what `generateName` begins with, where a cluster would add to it.
    fn name(&self) -> Option<String> {
        let metadata = &self.value["metadata"];
        let generated = || metadata["generateName"].as_str().map(|it| it.trim_end_matches('-').to_owned());
        metadata["name"].as_str().map(str::to_owned).or_else(generated)
    }

    /// Adds a problem with a field, unless it follows from one that is known: of the field, or of a part of it.
    fn add(&mut self, path: &str, message: String) {
        let follows =
            |known: &str| known.strip_prefix(path).is_some_and(|it| it.is_empty() || it.starts_with(['.', '[']));
        if !self.problems.iter().any(|it| follows(&it.path)) {
            let place = Some(self.root.place_of(path));
            self.problems.push(Problem { place, path: path.to_owned(), message });
        }
    }

    /// The error that lists every problem in the order of the file.
    fn into_error(mut self, path: &Path) -> InputError {
        let mut told = BTreeSet::new();
        self.problems.retain(|it| told.insert(it.path.clone()));
        self.problems.sort();
        let mut problems: Vec<String> = self.problems.iter().take(MAX_LISTED).map(Problem::to_string).collect();
        if self.problems.len() > MAX_LISTED {
            problems.push(format!("and {} more", self.problems.len() - MAX_LISTED));
        }
        InputError::Fields { path: path.to_owned(), problems }
    }
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
    fn a_target_is_waited_for_a_minute_unless_the_file_says_otherwise() {
        for (readiness, seconds) in
            [("", 60), (", readiness: {probe: Models}", 60), (", readiness: {timeoutSeconds: 900}", 900)]
        {
            let input = check(&format!("{HEAD}spec: {{target: {{url: 'http://h'{readiness}}}}}")).unwrap();
            assert_eq!(input.run.readiness_timeout.0.as_secs(), seconds, "{readiness}");
        }
    }

    #[test]
    fn the_run_of_a_results_folder_is_no_benchmark_run() {
        let input = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}}}")).unwrap();
        let error = check(&serde_saphyr::to_string(&input.run).unwrap()).unwrap_err();
        assert!(error.contains("results folder") && error.contains("benchmarkrun.yaml"), "{error}");
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
    fn everything_that_is_wrong_is_told_in_the_order_of_the_file() {
        let error = check(&format!(
            "{HEAD}spec:\n  shard: 3\n  harness: locust\n  seed: many\n  target: {{simulator: {{}}, url: 'ftp://h', modle: x}}\n"
        ))
        .unwrap_err();
        let lines: Vec<&str> = error.lines().skip(1).map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "spec.shard, line 5 column 3: is no field of spec, and holds 3; take it out; known are cancel, cleanup, execution, harness, \
                 launcher, profile, seed, storage, suspend, target and validity",
                "spec.harness, line 6 column 12: is \"locust\"; choose one of benchwright, inference-perf and loadgen",
                "spec.seed, line 7 column 9: is \"many\"; write a whole number from 0 to 9007199254740991",
                "spec.target.modle, line 8 column 43: is no field of spec.target, and holds \"x\"; did you mean model?",
            ]
        );
        let error = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}, url: 'http://h:0'}}, suspend: maybe}}"))
            .unwrap_err();
        assert!(
            error.contains("spec.suspend") && error.contains("spec.target, line 4 column 16: names more"),
            "{error}"
        );
    }

    #[test]
    fn natural_values_are_read() {
        let text = r#"
spec:
  target: {simulator: {}}
  launcher: {resources: {requests: {cpu: 1}}}
  validity: {maxErrorRatio: 0.05, maxCpuShare: "1"}
  profile:
    variables: {isl: 1024, osl: "16"}
    overrides: {load.stages.0.rate: 5}
    inline: |
      load: {type: constant, stages: [{rate: 1, duration: 2}]}
      data:
        type: random
        input_distribution: {mean: {{ isl }}, max: 2048}
        output_distribution: {mean: {{ osl }}, min: 1}
"#;
        let input = check(&format!("{HEAD}{text}")).unwrap();
        assert!((input.run.validity.max_error_ratio - 0.05).abs() < 1e-12);
        assert!(input.profile_text.contains("1024"), "{}", input.profile_text);
    }

    #[test]
    fn fields_without_an_effect_are_noticed() {
        let text = format!(
            "{HEAD}spec: {{target: {{simulator: {{}}}}, profile: {{files: [{{configMapRef: {{name: a, key: run.yaml}}}}]}}, \
             suspend: true, cancel: Immediate, storage: {{pvc: {{}}}}, \
             launcher: {{image: a}}, execution: {{retry: {{limit: 3}}, deadlines: {{startSeconds: 5}}}}, cleanup: {{run: {{}}}}}}"
        );
        let notices = check(&text).unwrap().notices;
        let paths: Vec<&str> = notices.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "spec.suspend",
                "spec.cancel",
                "spec.storage.pvc",
                "spec.profile.files",
                "spec.launcher",
                "spec.execution.retry",
                "spec.execution.deadlines",
                "spec.cleanup"
            ]
        );
        assert_eq!(check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}}}")).unwrap().notices, []);
    }

    #[test]
    fn what_is_empty_is_left_out_as_in_a_cluster() {
        let profile = "{variables: {isl: }, overrides: {load.stages: null}}";
        let notices =
            check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}, profile: {profile}}}")).unwrap().notices;
        let paths: Vec<&str> = notices.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["spec.profile.variables.isl", "spec.profile.overrides.load.stages"]);
        assert!(notices[0].message.contains("left out"), "{notices:?}");
    }

    #[test]
    fn whole_numbers_are_integers_as_in_a_cluster() {
        let spec = "{target: {simulator: {}, readiness: {timeoutSeconds: 60.0}}, seed: 1e5, profile: {variables: {isl: 1e3}, inline: \
                    'load: {type: constant, stages: [{rate: 1, duration: 2}]}\n\n\
                    data: {type: random, input_distribution: {mean: {{ isl }}, max: 2048}, output_distribution: {mean: 50}}'}}";
        let input = check(&format!("{HEAD}spec: {spec}")).unwrap();
        assert_eq!((input.run.seed.0, input.run.readiness_timeout.0.as_secs()), (100_000, 60));
        assert!(input.profile_text.contains("mean: 1000,"), "{}", input.profile_text);
    }

    #[test]
    fn a_run_without_a_salt_has_that_of_its_attempt() {
        let input = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}}}")).unwrap();
        let mut run = serde_json::to_value(&input.run).unwrap();
        run.as_object_mut().unwrap().remove("promptSalt");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("run.yaml"), run.to_string()).unwrap();
        fs::write(folder.path().join("spec.yaml"), serde_saphyr::to_string(&input.spec).unwrap()).unwrap();
        fs::write(folder.path().join("profile.yaml"), &input.profile_text).unwrap();
        assert_eq!(from_folder(folder.path()).unwrap().run.prompt_salt, input.run.run.prompt_salt());
    }

    #[test]
    fn old_names_and_words_of_yaml_say_what_to_write() {
        let error = check(&format!(
            "{HEAD}spec: {{target: {{simulator: {{}}}}, storage: {{perRequestRecords: Off}}, execution: {{retry: {{on: [Disrupted]}}}}, seed: 010}}"
        ))
        .unwrap_err();
        for part in ["did you mean None?", "it is called reasons", "kubectl reads as 8"] {
            assert!(error.contains(part), "{error} lacks {part}");
        }
    }

    #[test]
    fn a_profile_that_does_not_exist_lists_the_near_ones() {
        let error = check(&format!("{HEAD}spec: {{target: {{simulator: {{}}}}, profile: {{name: sanity_randm}}}}"))
            .unwrap_err();
        assert!(error.contains("sanity_random"), "{error}");
    }

    #[test]
    fn what_needs_a_cluster_says_what_to_give_instead() {
        let target = "target: {url: 'http://h', auth: {secretKeyRef: {name: a, key: b}}, tls: {ca: {configMapRef: {name: a, key: b}}}}";
        let error = check(&format!("{HEAD}spec: {{{target}}}")).unwrap_err();
        assert!(error.contains("--token-file") && error.contains("--ca-file"), "{error}");
    }
}
