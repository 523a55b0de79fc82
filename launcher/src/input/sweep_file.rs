//! [I/O] A BenchmarkSweep file, and the runs of its cells.

use std::path::{Path, PathBuf};

use crds::{
    benchmark_run::{GROUP, KIND as RUN_KIND, Lifecycle, PATHS_FROM, VERSION},
    benchmark_sweep::{self, BenchmarkSweepSpec, ResolvedSweep},
    schema,
    yaml::{self, Document, Problem},
};
use serde_json::{Value, json};

use super::{error::InputError, user_files::read};

/// Maximum number of problems in one error.
const MAX_LISTED: usize = 24;

/// The content of a BenchmarkSweep file.
#[derive(Clone, Debug)]
pub struct SweepFile {
    pub name: String,
    pub spec: BenchmarkSweepSpec,
    /// The text of the file.
    pub text: String,
    /// The folder of the file, against which its runs resolve relative paths.
    pub folder: PathBuf,
}

impl SweepFile {
    /// Reads a file and checks it against the schema.
    ///
    /// # Errors
    /// One error contains all wrong fields.
    pub fn read(path: &Path) -> Result<SweepFile, InputError> {
        SweepFile::parse(path, &read(path)?)
    }

    /// Checks the text of a file against the schema.
    ///
    /// # Errors
    /// One error contains all wrong fields.
    pub(super) fn parse(path: &Path, text: &str) -> Result<SweepFile, InputError> {
        let (name, spec) = parse(path, text)?;
        let folder = path.parent().filter(|_| path.is_file()).unwrap_or(Path::new(""));
        let folder = std::path::absolute(folder.join(".")).unwrap_or_else(|_| folder.to_owned());
        Ok(SweepFile { name, spec, text: text.to_owned(), folder })
    }

    /// Resolves the sweep into its cells. Their runs are not checked.
    ///
    /// # Errors
    /// One error contains all wrong fields of the sweep.
    pub fn cells(&self, path: &Path, uid: &str) -> Result<ResolvedSweep, InputError> {
        benchmark_sweep::resolve(&self.name, &self.spec, uid).map_err(|errors| InputError::Fields {
            path: path.to_owned(),
            problems: errors.iter().map(ToString::to_string).collect(),
        })
    }

    /// The BenchmarkRun of a run, as JSON. `shares_server`: the run leaves its managed server running, or uses one that runs already.
    pub fn document(&self, sweep: &ResolvedSweep, cell: usize, repeat: u32, shares_server: bool) -> String {
        let metadata = &self.spec.run_template.metadata;
        let mut annotations = metadata.annotations.clone();
        annotations.entry(PATHS_FROM.to_owned()).or_insert_with(|| self.folder.display().to_string());
        let mut spec = sweep.run_spec(cell, repeat);
        if shares_server {
            spec["target"]["server"]["lifecycle"] = json!(Lifecycle::Reuse);
        }
        let document = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": RUN_KIND,
            "metadata": {"name": sweep.run_name(cell, repeat), "labels": metadata.labels, "annotations": annotations},
            "spec": spec,
        });
        document.to_string()
    }
}

fn parse(path: &Path, text: &str) -> Result<(String, BenchmarkSweepSpec), InputError> {
    let syntax = |problem: Problem| InputError::Syntax { path: path.to_owned(), message: problem.to_string() };
    let document = yaml::read(text).map_err(syntax)?;
    let Document { root, mut problems, ambiguous_keys } =
        document.ok_or_else(|| InputError::Empty { path: path.to_owned() })?;
    let word = |key: &str| root.get(key).and_then(|it| it.value.text()).unwrap_or_default();
    if word("apiVersion") != format!("{GROUP}/{VERSION}") || word("kind") != benchmark_sweep::KIND {
        let found = match word("kind") {
            "" => "document without a kind".to_owned(),
            kind => format!("document of kind {kind}"),
        };
        return Err(InputError::NoSweep { path: path.to_owned(), found });
    }
    let checked = schema::check_sweep(&root);
    problems.extend(checked.problems);
    problems.extend(ambiguous_keys);
    // The checked value has no metadata if another part of the document is wrong.
    let name = root.to_json()["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    if !is_name(&name) {
        let message = format!(
            "is {name:?}; name the sweep, with at most {} letters a-z, digits and dashes, such as batching",
            benchmark_sweep::MAX_SWEEP_NAME_BYTES
        );
        problems.push(Problem {
            place: Some(root.place_of("metadata.name")),
            path: "metadata.name".to_owned(),
            message,
        });
    }
    let spec = read_spec(&checked.value["spec"]);
    match spec {
        Ok(spec) if problems.is_empty() => Ok((name, spec)),
        Err(message) if problems.is_empty() => Err(InputError::field(path, "spec", &message)),
        _ => {
            problems.sort();
            let problems = problems.iter().take(MAX_LISTED).map(ToString::to_string).collect();
            Err(InputError::Fields { path: path.to_owned(), problems })
        }
    }
}

fn is_name(name: &str) -> bool {
    let plain = name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-');
    plain && name.starts_with(|it: char| it.is_ascii_lowercase()) && !name.ends_with('-')
}

fn read_spec(value: &Value) -> Result<BenchmarkSweepSpec, String> {
    crds::json::read(&value.to_string()).map_err(|error| format!("{}: {}", error.path, error.problem))
}
