//! The input of a launcher.

use crds::{Reason, ResolvedRun, hex};
use sha2::{Digest as _, Sha256};

/// The launcher's input.
#[derive(Clone, Debug, PartialEq)]
pub struct LauncherInput {
    /// Content of `run.yaml` for the current attempt, or for the next one.
    pub run: ResolvedRun,
    /// Content of `profile.yaml`.
    pub profile: String,
    /// SHA-256 of `profile`, in hex.
    pub profile_sha256: String,
    /// Whether the launcher downloads files, because the profile contains their URLs.
    pub remote_files: bool,
}

impl LauncherInput {
    /// Creates an input with this rendered profile, and without files to download.
    pub fn new(run: ResolvedRun, profile: String) -> Self {
        let profile_sha256 = hex(&Sha256::digest(profile.as_bytes()));
        LauncherInput { run, profile, profile_sha256, remote_files: false }
    }
}

/// An error in the spec, in the profile, or in an object that they refer to. There is then no input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The reason with which the run fails or waits.
    pub reason: Reason,
    /// The field, its value and the remedy, with one line per problem.
    pub message: String,
}
