//! What a sweep needs to continue, beside its file and the results folders of its runs.

use std::{path::PathBuf, time::Duration};

use crds::{benchmark_sweep::BenchmarkSweepSpec, hex};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::options::SweepOptions;
use crate::input::LocalOptions;

/// The state of a sweep on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct State {
    /// The text from which the seeds are drawn.
    pub(super) uid: String,
    pub(super) started: Timestamp,
    /// The folder against which the runs resolve relative paths.
    pub(super) paths_from: PathBuf,
    /// A digest of the parts of the spec that must not change.
    cells: String,
    /// Time that the sweep has run, without the time between an interruption and a continuation.
    used_seconds: f64,
    /// The keys of the servers that runs of this sweep have started and left running.
    #[serde(default)]
    pub(super) servers: Vec<String>,
    /// Arguments that each `benchwright run` gets.
    #[serde(default)]
    pub(super) arguments: Vec<String>,
    #[serde(default)]
    token_file: Option<PathBuf>,
    #[serde(default)]
    ca_file: Option<PathBuf>,
    /// Runs whose attempts left no report.
    #[serde(default)]
    pub(super) lost: Vec<Lost>,
}

/// A run with attempts that left no report, for example because the target was not ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lost {
    pub(super) cell: usize,
    pub(super) repeat: u32,
    /// Number of attempts without a report.
    pub(super) attempts: u32,
    /// Why the last one has none.
    pub(super) message: String,
}

impl State {
    pub(super) fn new(
        uid: &str,
        started: Timestamp,
        paths_from: PathBuf,
        spec: &BenchmarkSweepSpec,
        options: &SweepOptions,
    ) -> State {
        State {
            uid: uid.to_owned(),
            started,
            paths_from,
            cells: digest(spec),
            used_seconds: 0.0,
            servers: Vec::new(),
            arguments: options.arguments.clone(),
            token_file: options.local.token_file.clone(),
            ca_file: options.local.ca_file.clone(),
            lost: Vec::new(),
        }
    }

    /// Replaces the arguments of the runs, if a command that resumes the sweep has any.
    pub(super) fn use_arguments(&mut self, options: &SweepOptions) {
        if !options.arguments.is_empty() {
            self.arguments.clone_from(&options.arguments);
            self.token_file.clone_from(&options.local.token_file);
            self.ca_file.clone_from(&options.local.ca_file);
        }
    }

    /// The files with which the runs are checked.
    pub(super) fn local(&self) -> LocalOptions {
        LocalOptions { token_file: self.token_file.clone(), ca_file: self.ca_file.clone(), ..LocalOptions::default() }
    }

    /// Counts an attempt that left no report.
    pub(super) fn add_lost(&mut self, cell: usize, repeat: u32, message: &str) {
        match self.lost.iter_mut().find(|it| (it.cell, it.repeat) == (cell, repeat)) {
            Some(lost) => {
                lost.attempts += 1;
                message.clone_into(&mut lost.message);
            }
            None => self.lost.push(Lost { cell, repeat, attempts: 1, message: message.to_owned() }),
        }
    }

    /// Whether a spec has the same cells in the same order as when the sweep began.
    pub(super) fn has_cells_of(&self, spec: &BenchmarkSweepSpec) -> bool {
        self.cells == digest(spec)
    }

    pub(super) fn used(&self) -> Duration {
        Duration::try_from_secs_f64(self.used_seconds).unwrap_or_default()
    }

    pub(super) fn set_used(&mut self, used: Duration) {
        self.used_seconds = used.as_secs_f64();
    }
}

/// A digest of everything but the fields that may change while a sweep runs.
fn digest(spec: &BenchmarkSweepSpec) -> String {
    let fixed = BenchmarkSweepSpec {
        cooldown_seconds: None,
        attempts: None,
        on_failure: None,
        budget_seconds: None,
        suspend: false,
        ..spec.clone()
    };
    let text = serde_json::to_vec(&fixed).unwrap_or_default();
    hex(&Sha256::digest(text)[..16])
}
