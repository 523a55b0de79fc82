//! The options from a command line.

use std::path::PathBuf;

use crds::benchmark_run::{Harness, SimulatorPreset};

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunSource {
    /// A BenchmarkRun file.
    File(PathBuf),
    /// The text of a BenchmarkRun file; its relative paths are relative to the working folder.
    Document(String),
    /// A profile against a server.
    Url {
        /// The base URL.
        url: String,
        /// The model; `None`: the server's model.
        model: Option<String>,
    },
    /// A profile against the embedded simulator.
    Simulator {
        /// Which server it simulates.
        preset: SimulatorPreset,
        /// The model; `None`: the simulator's.
        model: Option<String>,
    },
    /// A profile without a target, which is an error unless the profile names one.
    NoTarget {
        /// The model; `None`: the profile's model, or the server's.
        model: Option<String>,
    },
}

/// The arguments of a command line that change a run.
#[derive(Clone, Debug, Default)]
pub struct LocalOptions {
    /// A profile file, or the name of a shipped profile, in place of the run's profile.
    pub profile: Option<String>,
    /// The harness that defines the profile's format. `None`: the run names it, or the profile's text shows it.
    pub harness: Option<Harness>,
    /// Overrides in the form `path=value`, separated by commas. They apply after the BenchmarkRun's overrides.
    pub overrides: Vec<String>,
    /// Variables of the template in the form `name=value`. They replace the BenchmarkRun's variables.
    pub variables: Vec<String>,
    /// Whether to refuse a profile with keys that would be ignored or changed.
    pub strict: bool,
    /// Metrics URLs in addition to the run's URLs.
    pub metrics_urls: Vec<String>,
    /// The seed of every random draw, in place of the run's seed.
    pub seed: Option<u64>,
    /// The number of runs of the load, in place of the run's number.
    pub repeat: Option<u32>,
    /// Whether to skip the server's metrics, whatever the run names.
    pub no_server_metrics: bool,
    /// The file with the bearer token of the target.
    pub token_file: Option<PathBuf>,
    /// The file with additional certificate authorities.
    pub ca_file: Option<PathBuf>,
}
