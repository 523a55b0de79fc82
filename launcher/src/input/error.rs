//! The reason why an input cannot be run.

use std::{
    io,
    path::{Path, PathBuf},
};

use crds::{
    benchmark_run::{GROUP, KIND, VERSION},
    wording::{named, quoted},
};
use report::baseline::BaselineError;
use workload_profiles::ProfileError;

/// The reason why an input cannot be run. Each message contains its cause. The cause is not the `source` of the error, because printing the error
/// chain would repeat it.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("no BenchmarkRun is given, and {folder}, which the operator mounts in a pod, has no run.yaml; give a file with -f FILE, or a target with --url URL or --simulator", folder = folder.display())]
    NotGiven { folder: PathBuf },
    #[error("nothing to run is given; give a BenchmarkRun with -f FILE, or a target with --url URL or --simulator")]
    NoRun,
    #[error(
        "a profile is given without a target, and names none itself; add --url URL or --simulator, or give a BenchmarkRun with -f FILE"
    )]
    NoTarget,
    /// A file of the profile cannot be used.
    #[error("{path}: {message}", path = path.display())]
    Files { path: PathBuf, message: String },
    /// The format of a profile file is unknown.
    #[error("the profile {path} {reason}", path = path.display())]
    UnknownHarness {
        path: PathBuf,
        /// What is wrong with the text, or which formats it could have.
        reason: String,
    },
    #[error("--url is {}; write it with its scheme, such as http://localhost:8000", quoted(.found))]
    Url { found: String },
    #[error("the harnesses {} have a profile {name}; choose one with --harness", .harnesses.join(" and "))]
    SeveralHarnesses { name: String, harnesses: Vec<&'static str> },
    #[error("cannot read {path}: {cause}", path = path.display())]
    Read { path: PathBuf, cause: io::Error },
    /// The report of the earlier run for comparison cannot be read.
    #[error(
        "cannot read the baseline {path}: {cause}; name the earlier run with --baseline, or in spec.slo.baseline",
        path = path.display()
    )]
    BaselineFile { path: PathBuf, cause: io::Error },
    #[error(
        "the baseline {path} was changed after its run: its SHA-256 is not the one in the status of that run; name another run in spec.slo.baseline, or repeat the baseline's run",
        path = path.display()
    )]
    BaselineChanged { path: PathBuf },
    #[error("the baseline {path} {cause}", path = path.display())]
    Baseline { path: PathBuf, cause: BaselineError },
    #[error(
        "spec.slo.baseline: names an object of a cluster; outside a cluster give --baseline PATH, a report.json or a results folder"
    )]
    NoBaseline,
    #[error(
        "--baseline compares the objectives of spec.slo, and the run has none; give a BenchmarkRun with objectives by -f FILE, or take --baseline out"
    )]
    NoObjectives,
    #[error("{path} is empty; write a BenchmarkRun into it, such as examples/benchmarkrun.yaml", path = path.display())]
    Empty { path: PathBuf },
    /// The file is not valid YAML, or another release wrote it.
    #[error("{path}: {message}", path = path.display())]
    Syntax { path: PathBuf, message: String },
    #[error("{path} is a {found}; this command takes a {GROUP}/{VERSION} {KIND}; for a profile, use --profile", path = path.display())]
    WrongKind {
        path: PathBuf,
        /// The apiVersion and kind that the file has.
        found: String,
    },
    #[error(
        "{path} is a {found}; this command needs a {GROUP}/{VERSION} BenchmarkSweep, such as examples/sweep.yaml; `benchwright run` runs a {KIND}",
        path = path.display()
    )]
    NoSweep {
        path: PathBuf,
        /// The kind of the document.
        found: String,
    },
    #[error(
        "{path} is the run.yaml of a results folder, which records how a run was resolved; to repeat the run give the \
         benchmarkrun.yaml beside it",
        path = path.display()
    )]
    ResolvedRun { path: PathBuf },
    /// Fields that are unknown or wrong. Contains all of them.
    #[error("{path} cannot be run:{}", list(.problems), path = path.display())]
    Fields {
        path: PathBuf,
        /// One message per field.
        problems: Vec<String>,
    },
    /// Settings that the policy does not allow. Contains all of them.
    #[error("{path} asks for what the administrators do not allow:{}", list(.problems), path = path.display())]
    Denied {
        path: PathBuf,
        /// One message per setting.
        problems: Vec<String>,
    },
    /// Arguments of the command line that cannot be used. Contains all of them.
    #[error("{}", .problems.join("\n"))]
    Flags {
        /// One message per argument.
        problems: Vec<String>,
    },
    /// A variable of the command line without an equals sign.
    #[error("--variable {} is not of the form name=value; write, for example, isl=512", quoted(.found))]
    Variable { found: String },
    /// Keys that would be ignored or changed, with `--strict`.
    #[error("profile {} has keys that would be ignored or changed, which --strict refuses:{}", named(.source_name), list(.notices))]
    Strict { source_name: String, notices: Vec<String> },
    /// An override of the command line without an equals sign.
    #[error("--override {} is not of the form path=value; write, for example, load.stages.0.rate=5", quoted(.found))]
    Override { found: String },
    #[error("profile {}: {cause}", named(.source_name))]
    Profile {
        /// The name of the profile, or its file.
        source_name: String,
        cause: ProfileError,
    },
}

fn list(problems: &[String]) -> String {
    problems.iter().map(|it| format!("\n  {it}")).collect()
}

impl InputError {
    /// The message for a status. It does not contain the text of the profile, which can come from an object that readers of the status may not read.
    pub(crate) fn status_message(&self) -> String {
        match self {
            InputError::Profile { source_name, cause } => format!(
                "profile {} cannot be run: {}; the launcher's log names each problem",
                named(source_name),
                cause.places()
            ),
            error => error.to_string(),
        }
    }

    /// The problems as one text, for a document that the user did not write: without its name and without positions in it.
    pub(crate) fn causes(&self) -> String {
        let without_place = |problem: &String| match problem.split_once(": ") {
            Some((field, message)) => {
                let field = field.split_once(", line ").map_or(field, |(field, _)| field);
                format!("{field}: {message}")
            }
            None => problem.clone(),
        };
        match self {
            InputError::Fields { problems, .. }
            | InputError::Denied { problems, .. }
            | InputError::Flags { problems } => problems.iter().map(without_place).collect::<Vec<_>>().join("; "),
            error => error.to_string(),
        }
    }

    /// The error for a sweep in `path` one of whose cells has this error.
    pub(super) fn of_cell(&self, path: &Path, cell: &str) -> Self {
        InputError::Fields { path: path.to_owned(), problems: vec![format!("cell {cell}: {}", self.causes())] }
    }

    /// An unusable field of a BenchmarkRun file.
    pub(super) fn field(path: &Path, field: &str, message: &str) -> Self {
        InputError::Fields { path: path.to_owned(), problems: vec![format!("{field}: {message}")] }
    }
}
