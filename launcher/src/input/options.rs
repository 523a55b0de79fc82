//! The options of a command line that reads a run.

use std::path::PathBuf;

use crds::{
    benchmark_run::{Harness, Objective, SearchOver, SearchRecovery, SimulatorPreset},
    units::Span,
};

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunSource {
    /// A BenchmarkRun file.
    File(PathBuf),
    /// The text of a BenchmarkRun file. Relative paths in it are relative to the working folder.
    Document(String),
    /// A profile with a server as its target.
    Url {
        /// The base URL.
        url: String,
        /// The model. `None` means the model that the server serves.
        model: Option<String>,
    },
    /// A profile with the embedded simulator as its target.
    Simulator {
        /// The preset of the simulator.
        preset: SimulatorPreset,
        /// The model. `None` means the simulator's model.
        model: Option<String>,
    },
    /// A profile without a target. This is an error unless the profile itself names a target.
    NoTarget {
        /// The model. `None` means the profile's model, or the server's.
        model: Option<String>,
    },
}

/// The arguments of a command line that change a run.
#[derive(Clone, Debug, Default)]
pub struct LocalOptions {
    /// A profile file, or the name of a shipped profile. It replaces the run's profile.
    pub profile: Option<String>,
    /// The harness that defines the profile's format. `None` means that the run names it, or it is recognised from the profile's text.
    pub harness: Option<Harness>,
    /// Overrides in the form `path=value`, separated by commas. They apply after the BenchmarkRun's overrides.
    pub overrides: Vec<String>,
    /// Variables of the template in the form `name=value`. They replace the BenchmarkRun's variables.
    pub variables: Vec<String>,
    /// Whether to refuse a profile with keys that would be ignored or changed.
    pub strict: bool,
    /// Metrics URLs that are added to the run's URLs.
    pub metrics_urls: Vec<String>,
    /// The seed for every random draw. It replaces the seed in the spec.
    pub seed: Option<u64>,
    /// The number of runs of the load. It replaces the number in the spec.
    pub repeat: Option<u32>,
    /// Settings of a search for the highest load that meets the objectives. They replace the run's settings. `None` means that the command line
    /// requests no search.
    pub search: Option<SearchOptions>,
    /// Whether to read no server metrics, even if the run names sources.
    pub no_server_metrics: bool,
    /// The file with the bearer token of the target.
    pub token_file: Option<PathBuf>,
    /// The file with additional certificate authorities.
    pub ca_file: Option<PathBuf>,
}

/// Settings of a search. A field that is `None` leaves the run's setting, or the default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchOptions {
    /// The objectives that the load must meet. If empty, the objectives of the run are used.
    pub objectives: Vec<Objective>,
    pub over: Option<SearchOver>,
    pub budget: Option<Span>,
    pub risk: Option<f64>,
    pub first: Option<f64>,
    pub highest: Option<f64>,
    pub at_least: Option<f64>,
    pub recovery: Option<SearchRecovery>,
    /// The results folder of an earlier search from which this one goes on.
    pub resume: Option<PathBuf>,
}
