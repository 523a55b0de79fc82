//! A replacement for managed servers (`target.server`) on systems other than Linux, where the keeper of a server does not work.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use crds::resolve::{Endpoint, ResolvedRun};
use jiff::Timestamp;

use super::{Failure, server_extras::Extras};
use document::{ManagedServerDocument, ServerStart, SleepCycle};
use engine::{client::Resolver, stop::Stop};

/// Never contains a server.
#[derive(Default)]
pub(super) struct Servers;

/// Never constructed, because there is no server to describe.
pub(super) struct Described {
    pub(super) document: ManagedServerDocument,
    pub(super) logs: Vec<PathBuf>,
    pub(super) starts: Vec<ServerStart>,
}

impl Described {
    pub(super) fn forget_logs(&self) {}
}

/// The end of a server. Never constructed.
pub(super) struct Exited;

impl Exited {
    pub(super) fn headline(&self) -> String {
        String::new()
    }
}

/// The measurements of each pod, which are not used here.
#[expect(dead_code, reason = "a launcher in a cluster runs on Linux")]
pub(super) struct ByReplica<'a> {
    pub(super) addresses: Option<Vec<IpAddr>>,
    pub(super) requests: &'a [u64],
    pub(super) sleep_cycles: Vec<Vec<SleepCycle>>,
}

/// Returns `None`, because a launcher in a cluster always runs on Linux.
pub(super) fn describe_pods(_: &ResolvedRun, _: &Resolver, _: Duration, _: ByReplica<'_>) -> Option<Described> {
    None
}

pub(super) fn fetch_traces(_: &ResolvedRun, _: &Resolver, _: &Path, _: Duration, _: Duration) -> Vec<String> {
    Vec::new()
}

impl Servers {
    pub(super) fn urls(&self, run: &ResolvedRun, _: &Extras, _: &Stop) -> Result<Option<Vec<String>>, Failure> {
        match &run.endpoint {
            Endpoint::Server(_) => Err(Failure::configuration(
                "spec.target.server: is started on Linux only; start the server yourself, and set spec.target.url"
                    .into(),
            )),
            _ => Ok(None),
        }
    }

    pub(super) fn ready(&self, _: &[Timestamp], _: &Stop) -> Result<(), Failure> {
        Ok(())
    }

    pub(super) fn death(&self) -> Option<Exited> {
        None
    }

    pub(super) fn explain(&self, failure: Failure) -> Failure {
        failure
    }

    pub(super) fn describe(&self, _: bool, _: bool, _: Vec<Vec<SleepCycle>>, _: bool) -> Option<Described> {
        None
    }

    pub(super) fn end(&self) {}

    pub(super) fn renew(&self) {}
}
