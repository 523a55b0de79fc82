//! The arguments of all commands that read a BenchmarkRun file.

use std::path::PathBuf;

use clap::Args;
use launcher::input::LocalOptions;

#[derive(Args)]
pub(crate) struct InputArgs {
    /// Use this profile file in place of the profile that the BenchmarkRun names
    #[arg(long, value_name = "FILE", requires = "file")]
    profile: Option<PathBuf>,
    /// Set a value in the rendered profile, such as load.stages.0.rate=5; may be given several times
    #[arg(short = 'o', long = "override", value_name = "PATH=VALUE", requires = "file")]
    overrides: Vec<String>,
    /// Read the bearer token of the target from this file
    #[arg(long, value_name = "FILE", requires = "file")]
    token_file: Option<PathBuf>,
    /// Read further certificate authorities from this file, PEM-encoded
    #[arg(long, value_name = "FILE", requires = "file")]
    ca_file: Option<PathBuf>,
}

impl InputArgs {
    pub(super) fn options(&self) -> LocalOptions {
        LocalOptions {
            profile: self.profile.clone(),
            overrides: self.overrides.clone(),
            token_file: self.token_file.clone(),
            ca_file: self.ca_file.clone(),
        }
    }
}
