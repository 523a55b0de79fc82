//! The arguments of `benchwright run`, and their defaults in a pod and outside of one.

use std::{path::PathBuf, thread};

use crds::resolve::{Endpoint, STATUS_PORT, mounts};

use crate::input::{LocalOptions, RunSource};
use report::ChosenBy;

/// No measurement was faster with more threads, and each thread has its own connections.
const MAX_DEFAULT_THREADS: usize = 8;
const POD_TERMINATION_LOG: &str = "/dev/termination-log";

/// The arguments of `benchwright run`.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// What to run. `None`: this is a pod, and the operator has mounted the input.
    pub source: Option<RunSource>,
    /// The folder with the mounted input, in place of the operator's.
    pub input: Option<PathBuf>,
    /// What the command line adds to the file.
    pub local: LocalOptions,
    /// The folder in which each run makes a folder of its own.
    pub results: Option<PathBuf>,
    /// Write no results folder.
    pub no_results: bool,
    /// In the pod of a run with `spec.launcher.debug`: send the load, in place of waiting for a person.
    pub now: bool,
    /// Threads that issue the load.
    pub threads: Option<usize>,
    /// Whether the exit code tells a pipeline the outcome.
    pub gate: bool,
    /// The report of an earlier run, or its results folder, that objectives are compared with. In a pod the operator names it.
    pub baseline: Option<PathBuf>,
    /// The port of `/ready` and `/metrics`.
    pub status_port: Option<u16>,
    /// The file that gets the termination message.
    pub termination_log: Option<PathBuf>,
    /// Print progress as lines, and not as a bar.
    pub plain: bool,
    /// The commit that the binary was built from, for the report.
    pub commit: &'static str,
}

impl RunOptions {
    pub(super) fn in_pod(&self) -> bool {
        self.source.is_none()
    }

    /// Where the operator mounts the input.
    pub(super) fn input(&self) -> PathBuf {
        self.input.clone().unwrap_or_else(|| mounts::INPUT.into())
    }

    pub(super) fn status_port(&self) -> Option<u16> {
        self.status_port.or((self.in_pod() && !self.now).then_some(STATUS_PORT))
    }

    pub(super) fn termination_log(&self) -> Option<PathBuf> {
        // A process that a person started must not speak for the launcher of the pod.
        let own = self.in_pod() && !self.now;
        self.termination_log.clone().or_else(|| own.then(|| POD_TERMINATION_LOG.into()))
    }

    pub(super) fn results(&self) -> PathBuf {
        self.results.clone().unwrap_or_else(|| if self.in_pod() { mounts::RESULTS.into() } else { "results".into() })
    }

    /// The setting that chooses where results go.
    pub(super) fn results_chosen_by(&self) -> ChosenBy {
        // A person in the pod has a command line.
        if self.in_pod() && !self.now { ChosenBy::Spec } else { ChosenBy::Flag }
    }

    pub(super) fn threads(&self, endpoint: &Endpoint) -> usize {
        // A simulator in this process needs a core too.
        let simulators = usize::from(matches!(endpoint, Endpoint::Simulator(_)));
        self.threads.unwrap_or_else(|| default_threads().saturating_sub(simulators).max(1))
    }
}

/// Number of threads that issue the load by default: one for each core, at most 8.
pub fn default_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MAX_DEFAULT_THREADS)
}
