//! Why an input cannot be run.

use std::{
    io,
    path::{Path, PathBuf},
};

use crds::{
    benchmark_run::{GROUP, KIND, VERSION},
    wording::{named, quoted},
};
use workload_profiles::ProfileError;

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

impl InputError {
    /// One field of a BenchmarkRun file that cannot be used.
    pub(super) fn field(path: &Path, field: &str, message: &str) -> Self {
        InputError::Fields { path: path.to_owned(), problems: vec![format!("{field}: {message}")] }
    }
}
