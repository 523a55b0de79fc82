//! Replaces managed servers (`target.server`) on systems without a keeper, which needs Linux.

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

/// There is no server.
#[derive(Default)]
pub(super) struct Servers;

/// There is no description.
pub(super) struct Described {
    pub(super) document: ManagedServerDocument,
    pub(super) logs: Vec<PathBuf>,
    pub(super) starts: Vec<ServerStart>,
}

impl Described {
    pub(super) fn forget_logs(&self) {}
}

/// A server that ended; never constructed.
pub(super) struct Exited;

impl Exited {
    pub(super) fn headline(&self) -> String {
        String::new()
    }
}

/// What would be known about each pod.
#[expect(dead_code, reason = "a launcher in a cluster runs on Linux")]
pub(super) struct ByReplica<'a> {
    pub(super) addresses: Option<Vec<IpAddr>>,
    pub(super) requests: &'a [u64],
    pub(super) sleep_cycles: Vec<Vec<SleepCycle>>,
}

/// A launcher in a cluster runs on Linux.
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
