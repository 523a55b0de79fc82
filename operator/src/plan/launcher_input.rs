//! The input of a run's launcher.

use crds::{Reason, ResolvedRun, hex};
use sha2::{Digest as _, Sha256};

/// The launcher's input.
#[derive(Clone, Debug, PartialEq)]
pub struct LauncherInput {
    /// Content of `run.yaml`, for the current or next attempt.
    pub run: ResolvedRun,
    /// Content of `profile.yaml`.
    pub profile: String,
    /// SHA-256 of `profile`, in hex.
    pub profile_sha256: String,
    /// Whether the launcher downloads files that the profile names by URL.
    pub remote_files: bool,
}

impl LauncherInput {
    /// The input with this rendered profile, without files to download.
    pub fn new(run: ResolvedRun, profile: String) -> Self {
        let profile_sha256 = hex(&Sha256::digest(profile.as_bytes()));
        LauncherInput { run, profile, profile_sha256, remote_files: false }
    }
}

/// Why there is no input: the spec, the profile, or an object that they name is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The reason with which the run fails or waits.
    pub reason: Reason,
    /// Field, value and remedy; one line per problem.
    pub message: String,
}
