//! What to run: `run.yaml` and `profile.yaml` as the operator wrote them, or a BenchmarkRun file where there is no cluster.

mod error;
pub mod files_here;
mod local;
mod mounted;
mod overrides;
mod profile_file;
mod run_file;
#[cfg(test)]
mod tests;
mod unused_fields;
mod validate;

use std::path::{Path, PathBuf};

use crds::{
    benchmark_run::{BenchmarkRunSpec, Harness, MAX_INLINE_PROFILE_BYTES, SimulatorPreset},
    resolve::ResolvedRun,
};
use workload_profiles::{Notice, Workload};

use files::user_file;
use report::Inputs;

pub use error::InputError;
pub use local::{from_file, from_source};
pub(crate) use mounted::from_folder;
pub use validate::{CheckedRun, Rules, check_files};

/// The largest input file in bytes: twice the largest inline profile, and 1 MiB for the rest.
const MAX_FILE_BYTES: u64 = 2 * MAX_INLINE_PROFILE_BYTES as u64 + 1024 * 1024;

#[derive(Clone, Debug)]
pub struct Input {
    /// The run with all defaults: target, model, bounds and deadlines.
    pub run: ResolvedRun,
    /// The spec as the user wrote it.
    pub spec: BenchmarkRunSpec,
    /// The profile as rendered.
    pub profile_text: String,
    /// The profile as parsed.
    pub workload: Workload,
    /// Keys of the profile that were ignored or changed.
    pub notices: Vec<Notice>,
    /// The folder to which relative paths in the profile belong. `None` in a pod, and for profiles without such paths.
    pub paths_from: Option<PathBuf>,
}

impl Input {
    /// The part of the input that the results folder keeps.
    pub fn inputs(&self) -> Inputs<'_> {
        Inputs {
            run: &self.run,
            spec: &self.spec,
            profile_text: &self.profile_text,
            paths_from: self.paths_from.as_deref(),
            searches_rate: self.workload.loadgen.as_ref().is_some_and(|it| it.auto_qps.is_some()),
            measures_rates: self.workload.stages.iter().any(|it| it.load.has_measured_rate()),
        }
    }
}

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

/// Makes the relative paths of a workload absolute. They are relative to the folder of the file that names them.
fn resolve_paths(workload: &mut Workload, folder: &Path) {
    for path in workload.files_mut() {
        // The process may have no working folder. The path then stays relative, and reading it fails later.
        if let Ok(absolute) = std::path::absolute(folder.join(&*path)) {
            *path = absolute;
        }
    }
}

fn read(path: &Path) -> Result<String, InputError> {
    user_file::read_text(path, MAX_FILE_BYTES).map_err(|cause| InputError::Read { path: path.to_owned(), cause })
}
