//! What a person asks for on the command line.

use std::path::PathBuf;

use crds::benchmark_run::{Harness, SimulatorPreset};

/// What a command line asks to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunSource {
    /// A BenchmarkRun file.
    File(PathBuf),
    /// The text of a BenchmarkRun file, whose relative paths count from the working folder.
    Document(String),
    /// A profile against a server.
    Url {
        /// The base URL.
        url: String,
        /// The model; `None`: the one that the server serves.
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
        /// The model; `None`: the one that the profile names, or that the server serves.
        model: Option<String>,
    },
}

/// The arguments of a command line that change a run.
#[derive(Clone, Debug, Default)]
pub struct LocalOptions {
    /// A profile file, or the name of a profile that ships, in place of the profile that the run names.
    pub profile: Option<String>,
    /// The harness whose format the profile has. `None`: the run says it, or the text of the profile.
    pub harness: Option<Harness>,
    /// Overrides in the form `path=value`, several with commas between them. They apply after those of the BenchmarkRun.
    pub overrides: Vec<String>,
    /// Variables of the template in the form `name=value`. They replace those of the BenchmarkRun.
    pub variables: Vec<String>,
    /// Whether a profile with keys that would be ignored or changed is refused.
    pub strict: bool,
    /// URLs of metrics in addition to those that the run names.
    pub metrics_urls: Vec<String>,
    /// The seed of every random draw, instead of the seed of the run.
    pub seed: Option<u64>,
    /// How many times the load is run, in place of what the run says.
    pub repeat: Option<u32>,
    /// Whether the server's metrics are not read, whatever the run names.
    pub no_server_metrics: bool,
    /// The file that holds the bearer token of the target.
    pub token_file: Option<PathBuf>,
    /// The file that holds further certificate authorities.
    pub ca_file: Option<PathBuf>,
}
