//! [I/O] Checks the BenchmarkRuns, BenchmarkSchedules and BenchmarkSweeps in files like the operator, without a cluster.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crds::{
    EffectiveSpec, Settings, any_value,
    benchmark_run::{BenchmarkRunSpec, GROUP, KIND, KeyRef, VERSION},
    benchmark_schedule, benchmark_sweep,
    resolve::{ProfileSource, ResolvedRun},
    wording::quoted,
    yaml::{self, Problem},
};
use policy::{Policy, Violation};
use serde_json::Value;
use workload_profiles::{Notice, Prepared, ProfileError, Workload};

use super::{
    InputError,
    files_here::{self, FilesHere},
    run_file::{DEFAULT_NAMESPACE, RunFile},
    sweep_file::SweepFile,
    user_files::read,
};

/// Maximum number of documents per file. Each document is parsed separately.
const MAX_DOCUMENTS: usize = 1_000;
/// Standard input: its name on a command line, its path, and its name in messages.
const STDIN: (&str, &str, &str) = ("-", "/dev/stdin", "stdin");

/// The rules for checking runs.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Whether to refuse profiles with keys that would be ignored or changed.
    pub strict: bool,
    /// The namespace of runs that name none.
    pub namespace: Option<String>,
    /// The administrators' policy. The default allows everything that Kubernetes allows.
    pub policy: Policy,
    /// The operator's own image, which is always allowed.
    pub own_image: String,
}

/// A BenchmarkRun, a BenchmarkSchedule or a BenchmarkSweep in a file, or an unreadable file.
#[derive(Debug)]
pub struct CheckedRun {
    /// The file that contains the object.
    pub file: PathBuf,
    /// The name of the run, or its `generateName`. Empty if it has neither.
    pub name: String,
    /// Keys that would be ignored or changed, and parts that could not be checked.
    pub notices: Vec<Notice>,
    /// The reason why the operator would not start the run.
    pub error: Option<InputError>,
}

/// Checks all BenchmarkRuns, BenchmarkSchedules and BenchmarkSweeps in the files. A file may contain several documents of any kind, such as the output of kustomize.
/// ConfigMaps in the files provide the profiles.
pub fn check_files(files: &[PathBuf], rules: &Rules) -> Vec<CheckedRun> {
    let mut objects = Objects::default();
    let mut checked = Vec::new();
    for file in files {
        let (path, shown) = if file == Path::new(STDIN.0) {
            (Path::new(STDIN.1), Path::new(STDIN.2))
        } else {
            (file.as_path(), file.as_path())
        };
        if let Err(error) = objects.add(path, shown) {
            let (file, name) = (shown.to_owned(), String::new());
            checked.push(CheckedRun { file, name, notices: Vec::new(), error: Some(error) });
        }
    }
    checked.extend(objects.check_all(rules));
    checked
}

/// Checks the BenchmarkRuns in a text, like [`check_files`]. `file` is the path that messages name. Relative paths are relative to its folder.
///
/// # Errors
/// The first problem in the text.
pub fn check_text(text: &str, file: &Path, rules: &Rules) -> Result<(), InputError> {
    let mut objects = Objects::default();
    objects.add_text(text, file)?;
    objects.check_all(rules).into_iter().find_map(|it| it.error).map_or(Ok(()), Err)
}

/// One document of a file. Empty lines precede its text, so that line numbers are those of the file.
struct Document {
    file: PathBuf,
    text: String,
    kind: Kind,
}

/// The kind of an object that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Run,
    Schedule,
    Sweep,
}

struct ConfigMap {
    name: String,
    namespace: Option<String>,
    data: Value,
    binary_data: Value,
}

#[derive(Default)]
struct Objects {
    runs: Vec<Document>,
    config_maps: Vec<ConfigMap>,
}

impl Objects {
    fn add(&mut self, path: &Path, file: &Path) -> Result<(), InputError> {
        self.add_text(&read(path)?, file)
    }

    fn add_text(&mut self, text: &str, file: &Path) -> Result<(), InputError> {
        let syntax = |message: String| InputError::Syntax { path: file.to_owned(), message };
        let texts = documents(text);
        if texts.len() > MAX_DOCUMENTS {
            let message = format!("holds {} documents; give at most {MAX_DOCUMENTS} in a file", texts.len());
            return Err(syntax(message));
        }
        for text in texts {
            let read = yaml::read(&text).map_err(|problem: Problem| syntax(problem.to_string()))?;
            let Some(root) = read.map(|it| it.root) else { continue };
            let word = |key: &str| root.get(key).and_then(|it| it.value.text()).unwrap_or_default();
            let ours = word("apiVersion").starts_with(&format!("{GROUP}/"));
            match word("kind") {
                // A `List` may contain runs, so it is kept and refused later.
                KIND | "List" => self.runs.push(Document { file: file.to_owned(), text, kind: Kind::Run }),
                kind if ours => {
                    let kind = match kind {
                        _ if !word("apiVersion").ends_with(VERSION) => Kind::Run,
                        benchmark_schedule::KIND => Kind::Schedule,
                        benchmark_sweep::KIND => Kind::Sweep,
                        _ => Kind::Run,
                    };
                    self.runs.push(Document { file: file.to_owned(), text, kind });
                }
                "ConfigMap" => {
                    let whole = root.to_json();
                    let named = |key: &str| whole["metadata"][key].as_str().map(str::to_owned);
                    self.config_maps.push(ConfigMap {
                        name: named("name").unwrap_or_default(),
                        namespace: named("namespace"),
                        data: whole["data"].clone(),
                        binary_data: whole["binaryData"].clone(),
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_all(&self, rules: &Rules) -> Vec<CheckedRun> {
        let mut names = BTreeSet::new();
        self.runs.iter().map(|it| self.check(it, rules, &mut names)).collect()
    }

    fn check(
        &self,
        Document { file, text, kind }: &Document,
        rules: &Rules,
        names: &mut BTreeSet<(Kind, Option<String>, String)>,
    ) -> CheckedRun {
        let parse = match kind {
            Kind::Run => RunFile::parse,
            Kind::Schedule => RunFile::parse_schedule,
            Kind::Sweep => return self.check_sweep(file, text, rules),
        };
        let mut run = match parse(file, text) {
            Ok(run) => run,
            Err(error) => {
                let name = String::new();
                return CheckedRun { file: file.clone(), name, notices: Vec::new(), error: Some(error) };
            }
        };
        let name = run.name().to_owned();
        let mut notices =
            run.dropped.iter().map(|it| Notice { path: it.path.clone(), message: it.message.clone() }).collect();
        let known = !run.is_generated() && !names.insert((*kind, run.namespace().map(str::to_owned), name.clone()));
        let error = self.refusal(file, &mut run, rules, &mut notices).err().or_else(|| {
            let message =
                format!("is {}, which an earlier document has too; give each document its own name", quoted(&name));
            known.then(|| InputError::field(file, "metadata.name", &message))
        });
        CheckedRun { file: file.clone(), name, notices, error }
    }

    /// Checks a sweep, and the runs of all its cells. The first run that would be refused is reported, with the name of its cell.
    fn check_sweep(&self, file: &Path, text: &str, rules: &Rules) -> CheckedRun {
        let mut notices = Vec::new();
        let mut check = || {
            let sweep_file = SweepFile::parse(file, text)?;
            let name = sweep_file.name.clone();
            let sweep = sweep_file.cells(file, "")?;
            for (number, cell) in sweep.cells.iter().enumerate() {
                let mut run = RunFile::parse(file, &sweep_file.document(&sweep, number, 1, false))?;
                // Notices are the same for all cells, except for their values.
                let mut of_cell = Vec::new();
                self.refusal(file, &mut run, rules, &mut of_cell).map_err(|error| error.of_cell(file, &cell.name))?;
                notices.extend(of_cell.into_iter().filter(|_| number == 0));
            }
            Ok(name)
        };
        let (name, error) = match check() {
            Ok(name) => (name, None),
            Err(error) => (String::new(), Some(error)),
        };
        CheckedRun { file: file.to_owned(), name, notices, error }
    }

    /// Returns why the operator would refuse the run before it creates the first object.
    fn refusal(
        &self,
        file: &Path,
        run: &mut RunFile,
        rules: &Rules,
        notices: &mut Vec<Notice>,
    ) -> Result<(), InputError> {
        let namespace = run.namespace().map(str::to_owned).or_else(|| rules.namespace.clone());
        let judged_in = namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
        let settings = rules.policy.settings(&Settings::default(), judged_in);
        let (resolved, spec) = run.resolve_in_cluster(file, judged_in, &settings)?;
        let within = run.within();
        let denied = |workload: Option<&Workload>| {
            let limits = rules.policy.limits(judged_in);
            let effective = EffectiveSpec::new(&spec, &resolved.run.uid, &settings);
            let found = policy::check(&limits, &rules.own_image, &spec, &effective, &resolved, workload);
            let of_spec = |it: &Violation| if it.field.starts_with("spec") { within } else { "" };
            let problems: Vec<String> = found.iter().map(|it| format!("{}{it}", of_spec(it))).collect();
            if problems.is_empty() { Ok(()) } else { Err(InputError::Denied { path: file.to_owned(), problems }) }
        };
        self.check_files_of_profile(file, &spec, namespace.as_deref(), notices)?;
        let profile_error = |cause| InputError::Profile { source_name: resolved.profile_source.clone(), cause };
        let template = match ProfileSource::from_spec(&spec) {
            ProfileSource::Inline(text) => text,
            ProfileSource::Shipped(name) => {
                workload_profiles::shipped(resolved.harness, &name).map_err(profile_error)?.to_owned()
            }
            ProfileSource::ConfigMap(key) => {
                match self.value(file, "spec.profile.configMapRef", &key, namespace.as_deref())? {
                    Some(Some(text)) => text,
                    Some(None) => {
                        let message = format!("{} is binary; put the profile's text under data", quoted(&key.key));
                        return Err(InputError::field(file, "spec.profile.configMapRef.key", &message));
                    }
                    None => {
                        notices.push(not_given("spec.profile.configMapRef", &key));
                        return denied(None);
                    }
                }
            }
        };
        let prepared = prepare(&resolved, &spec, &template)
            .map_err(|cause| run.error_of_spec(file, &cause).unwrap_or_else(|| profile_error(cause)))?;
        if rules.strict && !prepared.notices.is_empty() {
            let notices = prepared.notices.iter().map(ToString::to_string).collect();
            return Err(InputError::Strict { source_name: resolved.profile_source.clone(), notices });
        }
        notices.extend(prepared.notices);
        denied(Some(&prepared.workload))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        match files_here::read(&prepared.workload, folder, resolved.seed) {
            FilesHere::Read => Ok(()),
            FilesHere::NotHere(files) => {
                let message = format!("names files that are not read here: {}", files.join(", "));
                notices.push(Notice { path: "spec.profile".into(), message });
                Ok(())
            }
            FilesHere::Wrong(error) => {
                Err(InputError::Files { path: file.to_owned(), message: format!("{:#}", anyhow::Error::new(error)) })
            }
        }
    }

    fn check_files_of_profile(
        &self,
        file: &Path,
        spec: &BenchmarkRunSpec,
        namespace: Option<&str>,
        notices: &mut Vec<Notice>,
    ) -> Result<(), InputError> {
        for (index, named) in spec.profile.files.iter().enumerate() {
            let Some(key) = &named.config_map_ref else { continue };
            let field = format!("spec.profile.files[{index}].configMapRef");
            if self.value(file, &field, key, namespace)?.is_none() {
                notices.push(not_given(&field, key));
            }
        }
        Ok(())
    }

    /// Returns the value of a key in a ConfigMap. `None` if the files do not contain the ConfigMap. `Some(None)` if the value is binary.
    fn value(
        &self,
        file: &Path,
        field: &str,
        key: &KeyRef,
        namespace: Option<&str>,
    ) -> Result<Option<Option<String>>, InputError> {
        let same = |it: &&ConfigMap| {
            it.name == key.name && it.namespace.as_deref().is_none_or(|it| namespace.is_none_or(|own| own == it))
        };
        let Some(found) = self.config_maps.iter().find(same) else { return Ok(None) };
        if let Some(text) = found.data[&key.key].as_str() {
            return Ok(Some(Some(text.to_owned())));
        }
        if found.binary_data[&key.key].is_string() {
            return Ok(Some(None));
        }
        let keys = [&found.data, &found.binary_data].into_iter().filter_map(Value::as_object).flat_map(|it| it.keys());
        let keys: Vec<String> = keys.map(|it| quoted(it)).collect();
        let message = format!(
            "ConfigMap {} has no key {}; it has {}; write one of these names",
            quoted(&key.name),
            quoted(&key.key),
            if keys.is_empty() { "none".to_owned() } else { keys.join(", ") }
        );
        Err(InputError::field(file, &format!("{field}.key"), &message))
    }
}

/// The profile, prepared to run.
fn prepare(resolved: &ResolvedRun, spec: &BenchmarkRunSpec, template: &str) -> Result<Prepared, ProfileError> {
    let variables = workload_profiles::variables(resolved, &spec.profile.variables)?;
    let overrides = any_value::texts(&spec.profile.overrides);
    workload_profiles::prepare(resolved, template, &variables, &overrides)
}

fn not_given(field: &str, key: &KeyRef) -> Notice {
    let message = format!("ConfigMap {} is in none of the files, so its content was not checked", quoted(&key.name));
    Notice { path: field.to_owned(), message }
}

/// Splits a text into documents. A line that begins with `---` starts a new document, even inside a block of text.
fn documents(text: &str) -> Vec<String> {
    let (mut found, mut current, mut has_content) = (Vec::new(), String::new(), false);
    for (number, line) in text.lines().enumerate() {
        let begins = line.strip_prefix("---").is_some_and(|it| it.is_empty() || it.starts_with([' ', '\t', '\r']));
        if begins && has_content {
            found.push(std::mem::replace(&mut current, "\n".repeat(number)));
            has_content = false;
        }
        let content = if begins { &line[3..] } else { line }.trim();
        has_content |= !content.is_empty() && !content.starts_with(['#', '%']);
        current.push_str(line);
        current.push('\n');
    }
    found.extend(has_content.then_some(current));
    found
}
