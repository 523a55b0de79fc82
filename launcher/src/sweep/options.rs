//! The arguments of `benchwright sweep`.

use std::path::PathBuf;

use crate::input::LocalOptions;

/// The arguments of `benchwright sweep`.
#[derive(Clone, Debug)]
pub struct SweepOptions {
    pub source: SweepSource,
    /// The folder in which a new sweep creates its folder.
    pub results: PathBuf,
    /// Whether to print the plan, and to run nothing.
    pub plan: bool,
    /// Whether the exit code reports the answer to a pipeline.
    pub gate: bool,
    /// Arguments that each `benchwright run` gets. A sweep that is resumed without any uses those that it began with.
    pub arguments: Vec<String>,
    /// Files with secrets and authorities, with which the runs are checked before the first one starts.
    pub local: LocalOptions,
}

/// Which sweep to run.
#[derive(Clone, Debug)]
pub enum SweepSource {
    /// A new sweep from a file.
    File(PathBuf),
    /// A sweep that was interrupted, by its folder.
    Resumed(PathBuf),
}
