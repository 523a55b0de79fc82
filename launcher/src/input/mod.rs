//! What to run: `run.yaml` and `profile.yaml` from the operator, or a BenchmarkRun file if there is no cluster.

mod error;
pub mod files_here;
mod local;
mod mounted;
mod options;
mod overrides;
mod profile_file;
mod run_file;
mod sweep_file;
#[cfg(test)]
mod tests;
mod unused_fields;
mod user_files;
mod validate;

use std::path::PathBuf;

use crds::{benchmark_run::BenchmarkRunSpec, resolve::ResolvedRun};
use report::Inputs;
use workload_profiles::{Notice, Workload};

pub use error::InputError;
pub use local::{from_file, from_source};
pub(crate) use mounted::from_folder;
pub use options::{LocalOptions, RunSource, SearchOptions};
pub use sweep_file::SweepFile;
pub use validate::{CheckedRun, Rules, check_files, check_text};

#[derive(Clone, Debug)]
pub struct Input {
    /// The run with all defaults filled in, including target, model, limits and deadlines.
    pub run: ResolvedRun,
    /// The spec as the user wrote it.
    pub spec: BenchmarkRunSpec,
    /// The text of the profile after rendering.
    pub profile_text: String,
    /// The workload that the profile describes.
    pub workload: Workload,
    /// Keys of the profile that were ignored or changed.
    pub notices: Vec<Notice>,
    /// The base folder of relative paths in the profile. `None` in a pod, and for profiles without relative paths.
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
