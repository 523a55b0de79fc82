//! The errors of the bench.

use std::{io, path::PathBuf};

use capacity::TrialError;
use engine::issue::LoadError;
use launcher::input::InputError;
use report::StorageError;
use workload_files::FilesError;

/// The reason why the bench produced no figures.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The system refused a process, a socket, memory, or access to a file.
    #[error("the bench cannot run: {0}; check memory, open files (ulimit -n) and processes")]
    System(#[from] io::Error),
    /// A trial failed.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// A measured program or thread failed.
    #[error("{0}")]
    Program(String),
    /// The launcher's binary is missing.
    #[error("{path} is no file; build it with `cargo build --release -p launcher`, or name it with --program", path = .0.display())]
    NoProgram(PathBuf),
    /// A file with figures cannot be written.
    #[error("cannot write {path}: {source}; choose another file", path = path.display())]
    Write { path: PathBuf, source: io::Error },
    /// Prompts cannot be generated.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The BenchmarkRun of a report cannot be read.
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error(transparent)]
    Input(#[from] InputError),
    /// A report cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A connection of the bare client broke.
    #[error("the bare client cannot go on: {0}")]
    Bare(#[from] hyper::Error),
    /// A request of the bare client is invalid.
    #[error("the bare client cannot begin: {0}")]
    Request(#[from] http::Error),
}
