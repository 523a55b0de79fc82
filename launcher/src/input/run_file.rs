//! A BenchmarkRun file. Validates it against the schema, and resolves its spec like the operator.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crds::{
    benchmark_run::{BenchmarkRunSpec, GROUP, Harness, KIND, MAX_NAME_BYTES, PATHS_FROM, VERSION},
    benchmark_schedule::{DEFAULT_TIME_ZONE, MAX_SCHEDULE_NAME_BYTES, times::Times},
    resolve::{ResolvedRun, RunIdentity, Settings, generate_name_problem, resolve},
    schema,
    wording::quoted,
    yaml::{self, Document, Node, Problem},
};
use serde_json::{Map, Value};
use workload_profiles::ProfileError;

use super::{InputError, LocalOptions, SearchOptions};

/// Maximum number of problems in one error. A file with more problems probably repeats one mistake.
const MAX_LISTED: usize = 48;
/// The namespace in which kubectl creates objects that name none.
pub(super) const DEFAULT_NAMESPACE: &str = "default";
/// The name that replaces one that cannot be generated. The problem has already been reported.
const GENERATED: &str = "run";
/// The default of `execution.deadlines.runSeconds`.
const DEFAULT_RUN_SECONDS: u64 = 3_600;
/// The time that a run needs beside the trials of a search, in seconds.
const SECONDS_BESIDE_TRIALS: u64 = 60;

pub(super) struct RunFile {
    root: Node,
    /// The parts of the file that match the schema.
    value: Value,
    problems: Vec<Problem>,
    /// Entries that are ignored because they are empty.
    pub(super) dropped: Vec<Problem>,
    /// The path before the run's fields: empty, or the path of a schedule's template.
    within: &'static str,
    /// Fields that the command line sets. Each has the flag that messages name instead of the field.
    flags: Vec<(String, &'static str)>,
}

impl RunFile {
    /// Parses the file and checks it against the schema. [`RunFile::resolve`] reports the problems.
    pub(super) fn parse(path: &Path, text: &str) -> Result<RunFile, InputError> {
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
        // The order matters, because only the first problem of each field is reported.
        problems.extend(checked.problems);
        problems.extend(ambiguous_keys);
        let (value, dropped) = (checked.value, checked.dropped);
        Ok(RunFile { root, value, problems, dropped, within: "", flags: Vec::new() })
    }

    /// Reads the run that a BenchmarkSchedule starts. It has the schedule's name, and the spec of the schedule's template.
    pub(super) fn parse_schedule(path: &Path, text: &str) -> Result<RunFile, InputError> {
        let syntax = |problem: Problem| InputError::Syntax { path: path.to_owned(), message: problem.to_string() };
        let document = yaml::read(text).map_err(syntax)?;
        let Document { root, mut problems, ambiguous_keys } =
            document.ok_or_else(|| InputError::Empty { path: path.to_owned() })?;
        let mut checked = schema::check_schedule(&root);
        problems.extend(checked.problems);
        problems.extend(ambiguous_keys);
        let spec = &checked.value["spec"];
        let text = |key: &str| spec[key].as_str();
        let times = text("schedule").map(|it| Times::parse(it, text("timeZone").unwrap_or(DEFAULT_TIME_ZONE)));
        let mut wrong: Vec<(&str, String)> =
            times.and_then(Result::err).map(|it| (it.field, it.message)).into_iter().collect();
        if spec.is_object() && text("schedule").is_none() && text("trigger").is_none() {
            let message = "has neither schedule nor trigger; write schedule, for runs at fixed times, or trigger, for a run whenever you change its text";
            wrong.push(("spec", message.to_owned()));
        }
        let name = checked.value["metadata"]["name"].as_str().unwrap_or_default();
        if name.len() > MAX_SCHEDULE_NAME_BYTES {
            let message = format!(
                "is {}, of {} bytes; use at most {MAX_SCHEDULE_NAME_BYTES}, because the names of its runs add ten characters",
                quoted(name),
                name.len()
            );
            wrong.push(("metadata.name", message));
        }
        let spec = checked.value["spec"]["runTemplate"]["spec"].take();
        let metadata = checked.value["metadata"].take();
        let value = serde_json::json!({"metadata": metadata, "spec": spec});
        let mut file = RunFile { root, value, problems, dropped: checked.dropped, within: "", flags: Vec::new() };
        wrong.into_iter().for_each(|(field, message)| file.add(field, message));
        file.within = "spec.runTemplate.";
        Ok(file)
    }

    /// Resolves the spec for a run outside a cluster.
    pub(super) fn resolve(
        &mut self,
        path: &Path,
        options: &LocalOptions,
    ) -> Result<(ResolvedRun, BenchmarkRunSpec), InputError> {
        let spec = self.spec(path)?;
        let identity = self.identity(String::new());
        for (given, named, path, flag) in [
            (&options.token_file, spec.target.auth.is_some(), "spec.target.auth", "--token-file"),
            (&options.ca_file, spec.target.tls.is_some(), "spec.target.tls", "--ca-file"),
        ] {
            if named && given.is_none() {
                self.add(path, format!("names an object of a cluster; outside a cluster give {flag} FILE"));
            }
        }
        let mut used = spec.clone();
        used.profile.files.clear();
        // If the command line replaces or changes the profile, problems of the profile in the file do not matter, so it is not checked.
        let is_whole = options.profile.is_none() && options.overrides.is_empty() && options.variables.is_empty();
        let mut run = self.resolved(path, identity, &used, &Settings::local(), is_whole)?;
        run.token_file.clone_from(&options.token_file);
        run.ca_file.clone_from(&options.ca_file);
        Ok((run, spec))
    }

    /// Resolves the spec like the operator, in a namespace.
    pub(super) fn resolve_in_cluster(
        &mut self,
        path: &Path,
        namespace: &str,
        settings: &Settings,
    ) -> Result<(ResolvedRun, BenchmarkRunSpec), InputError> {
        let spec = self.spec(path)?;
        let identity = self.identity(namespace.to_owned());
        let run = self.resolved(path, identity, &spec, settings, true)?;
        Ok((run, spec))
    }

    /// The path before the run's fields in the file: empty, or the path of a schedule's template.
    pub(super) fn within(&self) -> &'static str {
        self.within
    }

    fn spec(&mut self, path: &Path) -> Result<BenchmarkRunSpec, InputError> {
        match crds::json::read::<BenchmarkRunSpec>(&self.value["spec"].to_string()) {
            Ok(spec) => Ok(spec),
            Err(error) if self.problems.is_empty() => {
                let field = format!("{}spec.{}", self.within, error.path);
                Err(InputError::field(path, &field, &error.problem))
            }
            Err(_) => Err(self.take_error(path)),
        }
    }

    /// Resolves the spec. `with_profile` states whether to report the profile's problems even if there are other errors.
    fn resolved(
        &mut self,
        path: &Path,
        identity: RunIdentity,
        spec: &BenchmarkRunSpec,
        settings: &Settings,
        with_profile: bool,
    ) -> Result<ResolvedRun, InputError> {
        match resolve(identity.clone(), spec, settings) {
            Ok(run) if self.problems.is_empty() => return Ok(run),
            Ok(_) => {}
            Err(errors) => errors.into_iter().for_each(|it| self.add(&it.path, it.message)),
        }
        if with_profile && !self.has_problem_of_profile() {
            for error in workload_profiles::errors_beside_others(&identity, spec, settings) {
                self.add(&error.path, error.message);
            }
        }
        Err(self.take_error(path))
    }

    /// Whether a problem concerns the file's profile or harness. The profile that was resolved then differs from the one in the file.
    fn has_problem_of_profile(&self) -> bool {
        let fields = ["spec.profile", "spec.harness"].map(|it| format!("{}{it}", self.within));
        self.problems.iter().any(|it| fields.iter().any(|field| it.path.starts_with(field)))
    }

    /// Returns the identity of the run. Adds a problem if the name is missing or cannot be generated.
    fn identity(&mut self, namespace: String) -> RunIdentity {
        let text = |key: &str| self.value["metadata"][key].as_str().filter(|it| !it.is_empty()).map(str::to_owned);
        let mut name = text("name").unwrap_or_default();
        if let (true, Some(prefix)) = (name.is_empty(), text("generateName")) {
            // Outside a cluster no suffix is added to `generateName`.
            name = prefix.trim_end_matches('-').to_owned();
            if let Some(message) = generate_name_problem(&prefix) {
                self.add("metadata.generateName", message);
                name = GENERATED.to_owned();
            }
        } else if name.is_empty() {
            let message = format!(
                "is missing; name the run, with at most {MAX_NAME_BYTES} letters a-z, digits and dashes, such as chat"
            );
            self.add("metadata.name", message);
        }
        RunIdentity::first_attempt(name, namespace, uuid::Uuid::new_v4().to_string())
    }

    /// Returns the error for a profile that does not fit the spec, if all problems are about fields of the spec.
    pub(super) fn error_of_spec(&mut self, path: &Path, cause: &ProfileError) -> Option<InputError> {
        let of_spec = cause.problems.iter().all(|it| it.path.starts_with("spec."));
        of_spec.then(|| {
            cause.problems.iter().for_each(|it| self.add(&it.path, it.message.clone()));
            self.take_error(path)
        })
    }

    /// Notes that a flag sets a field, so that messages about the field name the flag.
    pub(super) fn set_by_flag(&mut self, path: String, flag: &'static str) {
        for problem in self.problems.iter_mut().filter(|it| it.path == path) {
            flag.clone_into(&mut problem.path);
            problem.place = None;
        }
        self.flags.push((path, flag));
    }

    /// Whether the file names a harness.
    pub(super) fn names_harness(&self) -> bool {
        self.value["spec"].get("harness").is_some()
    }

    /// Sets the harness that the command line or the profile names. `always`: even if the file names another harness.
    pub(super) fn set_harness(&mut self, harness: Harness, always: bool) {
        if always || !self.names_harness() {
            self.value["spec"]["harness"] = harness.name().into();
        }
    }

    /// Sets a shipped profile.
    pub(super) fn set_profile(&mut self, name: &str) {
        let profile = &mut self.value["spec"]["profile"];
        if let Some(entries) = profile.as_object_mut() {
            entries.remove("inline");
            entries.remove("configMapRef");
        }
        profile["name"] = name.into();
    }

    /// Sets the seed of every random draw.
    pub(super) fn set_seed(&mut self, seed: u64) {
        self.value["spec"]["seed"] = seed.into();
    }

    /// Sets the number of runs of the load.
    pub(super) fn set_repeat(&mut self, repeat: u32) {
        self.value["spec"]["repeat"] = repeat.into();
    }

    /// Makes the run a search. These settings replace those of the file.
    pub(super) fn set_search(&mut self, search: &SearchOptions) {
        let spec = &mut self.value["spec"];
        if !search.objectives.is_empty() {
            spec["slo"]["objectives"] = serde_json::to_value(&search.objectives).unwrap_or_default();
        }
        let written = &mut spec["search"];
        if !written.is_object() {
            *written = Value::Object(Map::new());
        }
        let seconds = search.budget.map(|it| it.0.as_secs());
        let settings = [
            ("over", search.over.and_then(|it| serde_json::to_value(it).ok())),
            ("budgetSeconds", seconds.map(Value::from)),
            ("risk", search.risk.map(Value::from)),
            ("first", search.first.map(Value::from)),
            ("highest", search.highest.map(Value::from)),
            ("atLeast", search.at_least.map(Value::from)),
            ("recovery", search.recovery.and_then(|it| serde_json::to_value(it).ok())),
        ];
        for (key, value) in settings {
            if let Some(value) = value {
                written[key] = value;
            }
        }
        // A file that repeats a run has the run's salt. The server may have the prompts of the earlier trials in its cache.
        if search.resume.is_some()
            && let Some(profile) = spec["profile"].as_object_mut()
        {
            profile.remove("promptSalt");
        }
        // No flag sets the time limit of the run, so a long search raises its default.
        let is_long = |it: &u64| it + SECONDS_BESIDE_TRIALS > DEFAULT_RUN_SECONDS;
        if let Some(seconds) = seconds.filter(is_long)
            && spec["execution"]["deadlines"]["runSeconds"].is_null()
        {
            spec["execution"]["deadlines"]["runSeconds"] = (seconds + SECONDS_BESIDE_TRIALS).into();
        }
    }

    /// Adds metrics sources to those of the file, or removes all.
    pub(super) fn set_metrics(&mut self, urls: &[String], none: bool) {
        let Some(target) = self.value["spec"]["target"].as_object_mut() else { return };
        if none {
            target.insert("metrics".into(), Value::Array(Vec::new()));
        } else if !urls.is_empty() {
            let metrics = target.entry("metrics").or_insert_with(|| Value::Array(Vec::new()));
            let added = urls.iter().map(|it| serde_json::json!({"url": it}));
            let Some(all) = metrics.as_array_mut() else { return };
            let first = all.len();
            all.extend(added);
            for index in first..first + urls.len() {
                self.set_by_flag(format!("spec.target.metrics[{index}].url"), "--metrics-url");
            }
        }
    }

    /// The base folder of relative paths in the profile, if the file names it. A `benchmarkrun.yaml` in a results folder names it, because the files
    /// of the profile are in another folder.
    pub(super) fn paths_from(&self) -> Option<PathBuf> {
        self.value["metadata"]["annotations"][PATHS_FROM].as_str().map(PathBuf::from)
    }

    /// The name of the run, or `generateName`, to which a cluster adds a suffix. Empty if the file has neither.
    pub(super) fn name(&self) -> &str {
        let metadata = &self.value["metadata"];
        let names = ["name", "generateName"].into_iter().filter_map(|it| metadata[it].as_str());
        names.into_iter().find(|it| !it.is_empty()).unwrap_or_default()
    }

    /// Whether a cluster chooses the name of the run.
    pub(super) fn is_generated(&self) -> bool {
        self.value["metadata"]["name"].as_str().is_none_or(str::is_empty)
    }

    /// The namespace that the file names, if any.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.value["metadata"]["namespace"].as_str().filter(|it| !it.is_empty())
    }

    /// Adds a problem about a field. Does nothing if the field or a part of it already has a problem, which can be the cause.
    fn add(&mut self, path: &str, message: String) {
        let within = if path.starts_with("spec") { self.within } else { "" };
        let path = &format!("{within}{path}");
        let follows =
            |known: &str| known.strip_prefix(path).is_some_and(|it| it.is_empty() || it.starts_with(['.', '[']));
        if self.problems.iter().any(|it| follows(&it.path)) {
            return;
        }
        let problem = match self.flags.iter().find(|it| it.0 == *path) {
            Some((_, flag)) => Problem { place: None, path: (*flag).to_owned(), message },
            None => {
                // The part after `: ` is a path inside the profile. Only the part before it is the path of a field.
                let field = path.split(": ").next().unwrap_or(path);
                Problem { place: Some(self.root.place_of(field)), path: path.to_owned(), message }
            }
        };
        self.problems.push(problem);
    }

    /// Returns the error with every problem, in the order of the file.
    fn take_error(&mut self, path: &Path) -> InputError {
        let mut found = std::mem::take(&mut self.problems);
        let of_flag = |it: &Problem| self.flags.iter().any(|(_, flag)| *flag == it.path);
        let mut told = BTreeSet::new();
        // Each field is reported once. Problems about a flag are all kept, because a flag may be given several times.
        found.retain(|it| of_flag(it) || told.insert(it.path.clone()));
        found.sort();
        let flags_alone = found.iter().all(of_flag);
        let mut problems: Vec<String> = found.iter().take(MAX_LISTED).map(Problem::to_string).collect();
        if found.len() > MAX_LISTED {
            problems.push(format!("and {} more", found.len() - MAX_LISTED));
        }
        match flags_alone {
            true => InputError::Flags { problems },
            false => InputError::Fields { path: path.to_owned(), problems },
        }
    }
}
