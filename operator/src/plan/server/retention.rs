//! How long a server outlives its run: spec.cleanup.server. One that runs share belongs to the run that finished last.

use std::time::Duration;

use crds::{
    BenchmarkRun, Settings,
    benchmark_run::Lifecycle,
    resolve::{ServerNames, managed_server, server_cleanup},
};
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::StopServer;
use crate::plan::{Observed, Plan, Presence, What, finished::left, meta};

/// The next look while a server goes. A watch reports the end of its pods.
const SERVER_GOES: Duration = Duration::from_secs(60);
/// The next look while another run uses a shared server, or where it cannot be read.
const LATER: Duration = Duration::from_secs(3_600);

/// What other runs have to do with a shared server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OtherUse {
    /// No other run has used it, or only runs that finished before.
    #[default]
    None,
    /// A run has used it that finished later, and decides.
    Later,
    /// A run uses it that has not finished.
    Now,
}

impl OtherUse {
    /// What a run has to do with the server `name` that `run` has used.
    pub fn of(run: &BenchmarkRun, name: &str, other: &BenchmarkRun) -> OtherUse {
        let Some(status) = &other.status else { return OtherUse::None };
        let uses = status.server.as_ref().is_some_and(|it| it.name == name && it.gone_time.is_none());
        if !uses || other.uid() == run.uid() {
            return OtherUse::None;
        }
        if !other.is_finished() {
            return OtherUse::Now;
        }
        let finished = |it: &BenchmarkRun| (it.status.as_ref().and_then(|it| it.completion_time), it.uid());
        if finished(other) > finished(run) { OtherUse::Later } else { OtherUse::None }
    }
}

/// Whether a finished run may still have to remove its server.
pub fn keeps_server(run: &BenchmarkRun) -> bool {
    let server = run.status.as_ref().and_then(|it| it.server.as_ref());
    run.spec.cleanup.server.is_some() && server.is_some_and(|it| it.gone_time.is_none() && it.left_time.is_none())
}

/// Whether the time has come to remove the server of a finished run.
pub fn server_is_due(run: &BenchmarkRun, now: Timestamp) -> bool {
    let Some(status) = run.status.as_ref().filter(|_| run.is_finished() && keeps_server(run)) else { return false };
    let retention = server_cleanup(&run.spec).zip(status.completion_time);
    retention.is_some_and(|(retention, finished)| left(status, retention, finished, now).is_none())
}

/// Whether runs share the server of this one.
pub fn is_shared(run: &BenchmarkRun) -> bool {
    managed_server(&run.spec).is_some_and(|it| it.lifecycle == Some(Lifecycle::Reuse))
}

/// Whether no other run may decide on shared servers while this one does. A run that begins to use one notes it in its status before it looks
/// at it, and a run that removes one looks at these notes before. If neither happens within the other, a server that is used is never
/// removed.
pub fn decides_on_shared(run: &BenchmarkRun, settings: &Settings, now: Timestamp) -> bool {
    let Some(server) = managed_server(&run.spec).filter(|_| is_shared(run)) else { return false };
    if run.is_finished() {
        return server_is_due(run, now);
    }
    let noted = run.status.as_ref().and_then(|it| it.server.as_ref());
    noted.is_none_or(|it| it.name != ServerNames::new(&meta::identity(run, 1), server, settings).server)
}

/// Removes the server of a finished run, or notes that it is gone. Returns when to look again.
pub(in crate::plan) fn remove(
    run: &BenchmarkRun,
    plan: &mut Plan,
    observed: &Observed,
    now: Timestamp,
) -> Option<Duration> {
    let server = plan.status.server.as_mut()?;
    let unread = observed.unread.iter().any(|it| it.what == What::Server);
    if unread || observed.server.deployment == Presence::Unknown {
        return Some(LATER);
    }
    if is_shared(run) {
        match observed.other_use {
            OtherUse::None => {}
            OtherUse::Now => return Some(LATER),
            OtherUse::Later => {
                server.left_time = Some(now);
                return None;
            }
        }
    }
    if observed.server.left(&server.name).is_empty() {
        server.gone_time = Some(now);
        server.ready_replicas = 0;
        return None;
    }
    server.stop_time.get_or_insert(now);
    plan.stop_server = StopServer::of(&server.name, &observed.server);
    Some(SERVER_GOES)
}
