//! The arguments of `benchwright run`, and their defaults inside and outside a pod.

use std::{path::PathBuf, thread};

use crds::resolve::{Endpoint, STATUS_PORT, mounts};

use crate::input::{LocalOptions, RunSource};
use report::ChosenBy;

/// Maximum number of threads by default. More threads never made a measurement faster, and each thread needs its own connections.
const MAX_DEFAULT_THREADS: usize = 8;
const POD_TERMINATION_LOG: &str = "/dev/termination-log";

/// The arguments of `benchwright run`.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// What to run. `None` means that this is a pod, and the operator has mounted the input.
    pub source: Option<RunSource>,
    /// The folder with the mounted input. It replaces the operator's folder.
    pub input: Option<PathBuf>,
    /// Options of the command line that modify the file.
    pub local: LocalOptions,
    /// The folder for the results folders of all runs.
    pub results: Option<PathBuf>,
    /// The name of this run's results folder below `results`. `None`: the name contains the time and the run.
    pub folder: Option<String>,
    /// Whether to write no results folder.
    pub no_results: bool,
    /// Whether to send the load instead of waiting for a person, in the pod of a run with `spec.launcher.debug`.
    pub now: bool,
    /// Number of threads that issue the load.
    pub threads: Option<usize>,
    /// Whether the exit code reports the outcome to a pipeline.
    pub gate: bool,
    /// The report or the results folder of an earlier run that objectives are compared with. In a pod the operator names it.
    pub baseline: Option<PathBuf>,
    /// The port of `/ready` and `/metrics`.
    pub status_port: Option<u16>,
    /// The file for the termination message.
    pub termination_log: Option<PathBuf>,
    /// Whether to print progress as lines instead of a bar.
    pub plain: bool,
    /// The commit of the binary, for the report.
    pub commit: &'static str,
}

impl RunOptions {
    pub(super) fn in_pod(&self) -> bool {
        self.source.is_none()
    }

    /// The folder in which the operator mounts the input.
    pub(super) fn input(&self) -> PathBuf {
        self.input.clone().unwrap_or_else(|| mounts::INPUT.into())
    }

    pub(super) fn status_port(&self) -> Option<u16> {
        self.status_port.or((self.in_pod() && !self.now).then_some(STATUS_PORT))
    }

    pub(super) fn termination_log(&self) -> Option<PathBuf> {
        // A process that a person starts in the pod must not write the termination message of the pod's launcher.
        let own = self.in_pod() && !self.now;
        self.termination_log.clone().or_else(|| own.then(|| POD_TERMINATION_LOG.into()))
    }

    pub(super) fn results(&self) -> PathBuf {
        self.results.clone().unwrap_or_else(|| if self.in_pod() { mounts::RESULTS.into() } else { "results".into() })
    }

    /// Which setting chooses where results are written.
    pub(super) fn results_chosen_by(&self) -> ChosenBy {
        // A person in the pod uses a command line, so the flag chooses.
        if self.in_pod() && !self.now { ChosenBy::Spec } else { ChosenBy::Flag }
    }

    pub(super) fn threads(&self, endpoint: &Endpoint) -> usize {
        // An embedded simulator also needs a core, so the load gets one thread fewer.
        let simulators = usize::from(matches!(endpoint, Endpoint::Simulator(_)));
        self.threads.unwrap_or_else(|| default_threads().saturating_sub(simulators).max(1))
    }
}

/// The default number of threads that issue the load: one per core, at most 8.
pub fn default_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MAX_DEFAULT_THREADS)
}
