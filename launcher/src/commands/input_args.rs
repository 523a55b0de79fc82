//! The arguments of all commands that read a run: a BenchmarkRun file, or a profile and a target.

use std::path::PathBuf;

use clap::{Args, builder::PossibleValuesParser};
use crds::benchmark_run::{Harness, MAX_SEED};
use launcher::input::{InputError, LocalOptions, RunSource};

use super::preset::PresetArg;

#[derive(Args)]
pub(crate) struct InputArgs {
    /// A BenchmarkRun file, as for kubectl
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["url", "simulator", "model"])]
    file: Option<PathBuf>,
    /// The profile: a file in the format of any harness, or the name of a profile that ships (see `benchwright profiles`)
    #[arg(short = 'w', long, value_name = "FILE|NAME")]
    profile: Option<String>,
    /// The harness that defines the profile's format [default: the BenchmarkRun's harness, or detected from the file]
    #[arg(short = 'l', long, value_name = "HARNESS", value_parser = harnesses())]
    harness: Option<String>,
    /// The base URL of the target, without /v1, in place of a BenchmarkRun file
    #[arg(short = 'U', long, alias = "endpoint-url", value_name = "URL", help_heading = "Target")]
    url: Option<String>,
    /// The embedded simulator as the target, in place of a BenchmarkRun file
    #[arg(long, value_name = "PRESET", num_args = 0..=1, default_missing_value = "gpu", conflicts_with = "url", help_heading = "Target")]
    simulator: Option<PresetArg>,
    /// The model name in requests [default: the model that the target serves]
    #[arg(short, long, value_name = "NAME", help_heading = "Target")]
    model: Option<String>,
    /// Set values in the rendered profile, such as load.stages.0.rate=5 or min=20,total_count=200; may be given several times
    #[arg(short = 'o', long = "override", value_name = "KEY=VALUE,...")]
    overrides: Vec<String>,
    /// Set a variable of the profile's template, such as isl=512; may be given several times
    #[arg(long = "variable", value_name = "NAME=VALUE")]
    variables: Vec<String>,
    /// Draw everything random from this seed, such as arrivals and lengths, in place of spec.seed [default: a new seed for each
    /// run; the report contains it]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(..=MAX_SEED))]
    seed: Option<u64>,
    /// Refuse a profile with a key that would be ignored or changed
    #[arg(long)]
    strict: bool,
    /// Read the server's metrics at this URL, such as http://vllm:8000/metrics; may be given several times [default: /metrics
    /// of the target]
    #[arg(long = "metrics-url", value_name = "URL", conflicts_with = "no_server_metrics", help_heading = "Target")]
    metrics_urls: Vec<String>,
    /// Do not read the server's metrics
    #[arg(long, help_heading = "Target")]
    no_server_metrics: bool,
    /// Read the bearer token of the target from this file
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    token_file: Option<PathBuf>,
    /// Read further certificate authorities from this file, PEM-encoded
    #[arg(long, value_name = "FILE", help_heading = "Target")]
    ca_file: Option<PathBuf>,
}

fn harnesses() -> PossibleValuesParser {
    PossibleValuesParser::new(Harness::ALL.map(Harness::name))
}

/// The harness with this name.
pub(super) fn harness(name: &str) -> Option<Harness> {
    Harness::ALL.into_iter().find(|it| it.name() == name)
}

impl InputArgs {
    /// Returns what to run. `None` if no argument names it, as in a pod.
    pub(super) fn source(&self) -> Option<RunSource> {
        if let Some(file) = &self.file {
            return Some(RunSource::File(file.clone()));
        }
        let model = self.model.clone();
        match (&self.url, self.simulator) {
            (Some(url), _) => Some(RunSource::Url { url: url.clone(), model }),
            (None, Some(preset)) => Some(RunSource::Simulator { preset: preset.into(), model }),
            (None, None) => (self.profile.is_some() || self.harness.is_some()).then_some(RunSource::NoTarget { model }),
        }
    }

    /// Returns what to run, for a command that does not run in a pod.
    ///
    /// # Errors
    /// No argument names it.
    pub(super) fn local_source(&self) -> Result<RunSource, InputError> {
        self.source().ok_or(InputError::NoRun)
    }

    pub(super) fn options(&self) -> LocalOptions {
        LocalOptions {
            profile: self.profile.clone(),
            harness: self.harness.as_deref().and_then(harness),
            overrides: self.overrides.clone(),
            variables: self.variables.clone(),
            strict: self.strict,
            seed: self.seed,
            repeat: None,
            search: None,
            metrics_urls: self.metrics_urls.clone(),
            no_server_metrics: self.no_server_metrics,
            token_file: self.token_file.clone(),
            ca_file: self.ca_file.clone(),
        }
    }
}
