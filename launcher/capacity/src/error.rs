//! The reason why a trial has no result.

use std::io;

use workload_files::FilesError;

use crate::demand::Unknown;
use engine::{client::TargetError, issue::LoadError};

/// The reason why a trial has no result.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The system refused a process, a socket, memory or a file.
    #[error("the bench cannot run: {0}; check memory, open files (ulimit -n) and processes")]
    System(#[from] io::Error),
    /// A child process failed.
    #[error("{0}")]
    Child(String),
    /// The load cannot run.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The files of the workload cannot be read.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// No stage can be used for a trial.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// Requests cannot be sent to the server.
    #[error(transparent)]
    Target(#[from] TargetError),
}
