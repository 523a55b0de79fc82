//! The input of a document.

use analysis::{Analysis, TargetIdentity, loadgen::judged::LoadGenTests};
use crds::{hex, resolve::ResolvedRun};
use files::file_digest::FileDigest;
use sha2::{Digest as _, Sha256};
use workload_profiles::{Notice, Workload};

use crate::{
    managed_server::ManagedServerDocument, redact, server_replicas::ServerReplicasDocument, server_start::ServerStart,
};

/// The input of a document.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The commit of the binary.
    pub commit: &'a str,
    /// The figures and the verdict.
    pub analysis: &'a Analysis,
    /// What the server reported about itself; `None` if it was not probed.
    pub server: Option<&'a TargetIdentity>,
    /// The resolved run.
    pub run: &'a ResolvedRun,
    /// The load, as issued.
    pub workload: &'a Workload,
    /// The rendered profile.
    pub profile_text: &'a str,
    /// The digests of the files that the workload reads.
    pub files: &'a [FileDigest],
    /// Keys of the profile that were ignored or changed.
    pub notices: &'a [Notice],
    /// The LoadGen tests of the run; `None` if it has none.
    pub loadgen: Option<&'a LoadGenTests>,
    /// How the servers started that the run itself started; empty if it started none.
    pub startups: &'a [ServerStart],
    /// The server that was started for the run; `None` if the run has another target.
    pub managed_server: Option<&'a ManagedServerDocument>,
    /// How requests were distributed over the replicas that the operator started; `None` if there are none.
    pub server_replicas: Option<&'a ServerReplicasDocument>,
}

impl Parts<'_> {
    /// SHA-256 of `profile.yaml` in the results folder, in hex.
    pub fn profile_sha256(&self) -> String {
        hex(&Sha256::digest(redact::profile(self.profile_text).as_bytes()))
    }
}
